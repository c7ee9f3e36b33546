#pragma once
/*
 * Mail that requests cause: a row in the transaction of the change, which runners send. No function
 * here checks whether an account exists, so that neither an answer nor its duration shows that.
 */
#include "app.h"
#include "mail/outbox.h"
#include "mail/template.h"

struct mail_flow {
    enum mail_type type;
    struct str email; /* result of mail_flow_address() */
    int64_t user_id;  /* 0: the user who has the address at the time of sending */
    struct str page;  /* the page that the mail's link opens */
    struct str invited_by, old_email, new_email;
};

/* Results are 0, a negative, or the status that was put. */

/* co: Registers the project with the runners. Call it before the transaction. */
AWAITS int mail_flow_ready(struct req *r) MUSTCHECK;
/* co: Inserts the row, on r->scope->db. */
AWAITS int mail_flow_put(struct req *r, const struct mail_flow *flow) MUSTCHECK;
/* any: Notifies the runners. Call it after the commit. */
void mail_flow_notify(struct req *r);
/* any: Chooses the page that a link opens: redirect_to when the project allows that URL, or when it
 * is the page /auth/ui/ with any query (else 400 redirect_not_allowed). Without redirect_to, the
 * page is the project's auth_page_url, else the page /auth/ui/, else the first of its
 * redirect_urls, else STR_NONE. The hosts that the request names do not matter. */
int mail_flow_page(struct req *r, const struct in_str *redirect_to, struct str *ret_page) MUSTCHECK;
/* co: Returns the address in the form in which accounts store it. Limits count that form, and links
 * are made for it. Arena-owned. */
AWAITS int mail_flow_address(struct req *r, struct str email, struct str *ret_email) MUSTCHECK;
/* co: Counts a mail. 429 when the address (a result of mail_flow_address()) or the project has had
 * too many mails in this minute. */
AWAITS int mail_flow_limit(struct req *r, struct str email) MUSTCHECK;
