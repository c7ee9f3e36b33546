#pragma once
/* search-indexer --verify [PROJECT]: postings, forward lists and records of live generations
 * against each other; what differs is told and repaired. Beside daemons at work. */
#include "app.h"

/* co: as struct daemon_job wants it. */
AWAITS int verify_all(struct task *task,
                      struct directory *directory,
                      void (*say)(const char *text),
                      struct str *ret_reason);
