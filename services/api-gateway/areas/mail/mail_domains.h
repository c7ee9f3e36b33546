#pragma once
/* The domains that projects send mail from. */
#include "app.h"

/* any: Sets the mechanism of SPF records (RFC 7208) that names the operator's servers. STR_NONE:
 * the domains need no SPF record. Called at start. Borrows the text for ever. */
void mail_domains_spf_set(struct str mechanism);
