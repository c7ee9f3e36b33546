#pragma once
/* Addresses that mail comes from. */
#include "app.h"

/* co: may a template name this sender? 0; 400 when there is none, 422 when its domain is not
 * verified. */
AWAITS int tenant_senders_check(struct req *r, const char *member, int64_t id) MUSTCHECK;
