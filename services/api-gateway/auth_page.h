#pragma once
/*
 * The page for a project's users at {base_url}/auth/ui/: sign-in, links in mails, return from the
 * identity provider. It is a page of services/console (auth.html).
 */
#include "app.h"

#define AUTH_PAGE_PATH "/auth/ui/"

/* any: Returns the configured directory of the page's files; STR_NONE when none is configured, and
 * when the page is off. */
struct str auth_page_folder(void);
/* any: Returns whether the operator has switched the page off. */
bool auth_page_is_off(void);
/* any: Returns the public address of the project's page, such as
 * https://api.example.com/org/shop/auth/ui/. STR_NONE when the page has no files or the gateway has
 * no public URL: the Host of a request must not choose where a mail's link leads. Arena-owned. */
struct str auth_page_own_url(struct req *r);
/* any: Checks that `url` is one of the project's redirect_urls. Returns 0, or puts 400
 * redirect_not_allowed. */
int auth_check_redirect(struct req *r, struct str url) MUSTCHECK;
