#pragma once
/* The addresses that projects send mail from. */
#include "app.h"

/* co: Checks that a template may name the sender `id`; `member` is the member of the body that does
 * so. Returns 0, a negative, or the status that was put: 400 when there is no such sender, 422 when
 * its domain is not verified. */
AWAITS int mail_senders_check(struct req *r, const char *member, int64_t id) MUSTCHECK;
