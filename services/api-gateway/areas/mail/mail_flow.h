#pragma once
/*
 * Mail that areas cause: a row in the transaction of the change, which runners send. Nothing here
 * looks whether an account exists: who asks learns nothing, and it costs the same.
 */
#include "app.h"
#include "mail/outbox.h"
#include "mail/template.h"

struct mail_flow {
    enum mail_type type;
    struct str email; /* of mail_flow_address() */
    int64_t user_id;  /* 0: whoever has the address when it is sent */
    struct str page;  /* what its link opens */
    struct str invited_by, old_email, new_email;
};

/* co: before the transaction. */
AWAITS int mail_flow_ready(struct req *r) MUSTCHECK;
/* co: the row, on r->scope->db. */
AWAITS int mail_flow_put(struct req *r, const struct mail_flow *flow) MUSTCHECK;
/* any: after the commit. */
void mail_flow_notify(struct req *r);
/* any: the page of the project that a link opens: redirect_to where it is one of the project's
 * (400 redirect_not_allowed when it is not), else its own; STR_NONE: it has none. Never made of
 * what the request says about hosts. */
int mail_flow_page(struct req *r, const struct in_str *redirect_to, struct str *ret_page) MUSTCHECK;
/* co: an address as accounts have it, however it is typed: limits count it, links are for it.
 * Arena-owned. */
AWAITS int mail_flow_address(struct req *r, struct str email, struct str *ret_email) MUSTCHECK;
/* co: mails to one address (of mail_flow_address()), and of one project, in a minute: 429. */
AWAITS int mail_flow_limit(struct req *r, struct str email) MUSTCHECK;
