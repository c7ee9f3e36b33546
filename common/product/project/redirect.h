#pragma once
/*
 * Addresses that a sign-in, a consent or a link in a mail may redirect to: pages (http, https) and
 * apps (RFC 8252, 7.1: "com.example.app:/oauth", "myapp://signed-in"). No function waits.
 */
#include "base/str.h"
#include "project/project.h"

/* any: returns NULL when `url` is allowed, else the fault, as a message about a member. A page must
 * not have a wildcard, because it would never match. Schemes that browsers run or open on their own
 * are refused. */
const char *redirect_url_fault(struct str url);
/* any: whether both name the same page. Letter case of scheme and host, the scheme's default port
 * and an empty path make no difference; anything else does. */
bool redirect_url_is_same(struct str one, struct str other);
/* any: whether `url` is one of the project's redirect_urls. */
bool redirect_url_is_listed(const struct project_settings *settings, struct str url);
