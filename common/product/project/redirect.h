#pragma once
/*
 * Addresses that a sign-in, a consent or a link in a mail may lead to: pages (http, https) and apps
 * (RFC 8252, 7.1: "com.example.app:/oauth", "myapp://signed-in"). Pure: nothing here waits.
 */
#include "base/str.h"
#include "project/project.h"

/* NULL when `url` may be such an address, else the fault, as a message about a member. Pages have
 * no wildcard, which would never match; schemes that browsers run or open themselves are refused.
 */
const char *redirect_url_fault(struct str url);
/* Do both name the same page? Letter case of scheme and host, the scheme's own port and an empty
 * path make no difference; anything else does. */
bool redirect_url_same(struct str one, struct str other);
/* Is `url` one of the project's redirect_urls? */
bool redirect_url_listed(const struct project_settings *settings, struct str url);
