#pragma once
/* search-indexer --verify [PROJECT]: compares postings, forward lists and records of live
 * generations with each other; reports and repairs differences. Daemons may be running. */
#include "app.h"

/* co: Verifies one project, or all of them, as a struct daemon_job. say() receives a line per
 * generation; *ret_reason is the reason of a failure. */
AWAITS int verify_all(struct task *task,
                      struct directory *directory,
                      void (*say)(const char *text),
                      struct str *ret_reason);
