#pragma once
/*
 * Mail as a kind of work (common/product/queue): rows of the outbox of mails, whichever service
 * wrote them, are handed to the operator's mail server. Before the server gets the text of a mail,
 * the mail's row records this (`handed_over`). When no answer follows, the mail is never sent
 * again. A mail that the server refuses for the moment is tried again later. A mail that the server
 * refuses for good has ended.
 */
#include "app.h"
#include "queue/queue.h"

/* Call before fork: prepares the metrics of mails. */
void mails_prepare(void);
/* any: Starts claiming mails. Without a mail server only mails whose give_up_at has passed are
 * claimed, and end as expired. */
void mails_start(void);
/* any: Stops polling projects for mails, and stops retention. */
void mails_stop_polling(void);
/* any: Claims no more mails, and calls done(arg) when no mail is claimed here any longer. At
 * last_call_mono_ms the remaining mails are cancelled. */
void mails_drain(int64_t last_call_mono_ms, loop_fn done, void *arg);
/* loop: Frees the queue. No mail may run at this point. */
void mails_stop(void);

struct claimed_mail {
    struct queue_item item;
    struct str type, recipient;
    struct str content; /* STR_NONE: large, and not read yet */
    int64_t size;       /* upper bound of the bytes of the message */
    int64_t user_id;    /* 0 = unknown */
    int64_t tries;
    bool is_past_give_up;     /* its give_up_at has passed */
    bool has_verified_domain; /* its project has a verified domain */
};

/* co: Runs a statement about a mail. Statements about mails of one project that arrive at the same
 * time share a transaction. *ret_rows: how many rows the statement returned. 0, a DB_*, or a
 * negative. */
AWAITS int mails_write(struct task *task,
                       const struct claimed_mail *mail,
                       struct db_call call,
                       size_t *ret_rows) MUSTCHECK;

struct mail;
/* co: Chooses the sender of a mail. The project's candidates are its sender `sender_id`, its
 * default sender and the address in its settings, in this order. The first candidate whose domain
 * is verified is taken, and the mail is signed for that domain. Without a candidate the operator's
 * address is taken. The display name is the one that the mail already has, else the chosen
 * sender's, else `name`, else the operator's. 0; MAIL_DROPPED when there is no sender; a DB_*, or a
 * negative. */
AWAITS int mails_sender(struct task *task,
                        const struct claimed_mail *claimed,
                        int64_t sender_id,
                        struct str name,
                        struct mail *mail) MUSTCHECK;
/* co: Makes the message and its recipients, and stores the token of its link. The message is
 * arena-owned. 0; MAIL_DROPPED with a code in *ret_code when the mail is not to be sent;
 * MAIL_BAD_ADDRESS or MAIL_BAD_HEADER with a reason in *ret_code; a DB_*, or a negative. */
AWAITS int mails_make(struct task *task,
                      struct claimed_mail *claimed,
                      struct mail *ret_mail,
                      struct str *ret_code) MUSTCHECK;
