#pragma once
/* Domains that mail comes from. */
#include "app.h"

/* At start: the term of SPF records that names the operator's servers; STR_NONE: none is asked for.
 * Borrowed for ever. */
void tenant_domains_spf_set(struct str mechanism);
