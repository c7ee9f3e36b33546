#pragma once
/*
 * Mail as a kind of work (common/product/queue): rows that anybody wrote are handed to the
 * operator's server. A row says before that happens that it does: what has no answer from then on
 * is not sent again. What the server does not want now is tried again later, what it does not want
 * at all has ended.
 */
#include "app.h"
#include "queue/queue.h"

/* Before fork. */
void mails_prepare(void);
/* any: without a mail server only what nobody waits for any more is claimed, and ends. */
void mails_start(void);
void mails_stop_looking(void);
/* any: done(arg) when nothing is claimed here any more. */
void mails_drain(int64_t last_call_mono_ms, loop_fn done, void *arg);
void mails_stop(void);

/* A mail that is claimed. */
struct claimed_mail {
    struct queue_item item;
    struct str type, recipient;
    struct str content; /* STR_NONE: large, and not read yet */
    int64_t size;       /* of what it becomes, at most */
    int64_t user_id;    /* 0 = not known */
    int64_t tries;
    bool late;       /* nobody waits for it any more */
    bool own_domain; /* its project has one that is verified */
};

/* co: a statement about a mail, in one transaction with those about others of its project that come
 * at the same time. *ret_rows: how many rows it has answered. */
AWAITS int mails_write(struct task *task,
                       const struct claimed_mail *mail,
                       struct db_call call,
                       size_t *ret_rows) MUSTCHECK;

struct mail;
/* co: whom it comes from: the project's sender of that id, its default, the address of its
 * settings, the first whose domain is verified, and signed by it; else the operator's. The name
 * that the mail has stays; else the own sender's, `name`, the operator's. 0; MAIL_DROPPED: nobody;
 * a DB_* or a negative. */
AWAITS int mails_sender(struct task *task,
                        const struct claimed_mail *claimed,
                        int64_t sender_id,
                        struct str name,
                        struct mail *mail) MUSTCHECK;
/* co: what a mail says and to whom, with its link's token stored. 0; MAIL_DROPPED with a code when
 * it is not to be sent; MAIL_BAD_ADDRESS, MAIL_BAD_HEADER; a DB_* or a negative. Arena-owned. */
AWAITS int mails_make(struct task *task,
                      struct claimed_mail *claimed,
                      struct mail *ret_mail,
                      struct str *ret_code) MUSTCHECK;
