#pragma once
/*
 * Mail that waits to be sent: a row that is written in the transaction that causes the mail.
 * workflow-runner sends it (services/workflow-runner/mails), whichever service wrote it.
 */
#include "db/db.h"
#include "project/project.h"

#define MAIL_LINK_MINUTES      60 /* how long a link in a mail works */
#define MAIL_LINK_MS           ((int64_t)MAIL_LINK_MINUTES * 60 * 1000)
#define MAIL_GIVE_UP_MS        ((int64_t)24 * 3600 * 1000) /* ms: how long sending is tried */
#define MAIL_NOTIFICATION_KIND "mail.queued"

struct mail_entry {
    const char *type;     /* name of a template, "workflow" or "test" */
    struct str recipient; /* the first recipient */
    int64_t user_id;      /* 0 = unknown, or not created yet */
    struct str content;   /* JSON object: what the sender of this type reads */
    int64_t give_up_ms;   /* sending stops this long from now */
};
/* any: Returns the statement that writes the row in the project's transaction. Parameters live in
 * `arena`, texts are borrowed from `entry`. */
struct db_call mail_outbox_call(struct arena *arena, const struct mail_entry *entry);
/* co: Registers the project before the first such transaction: runners poll the project from then
 * on. 0, a DB_* or a negative. */
AWAITS int mail_outbox_register(struct task *task,
                                struct directory *directory,
                                const struct project *project) MUSTCHECK;
/* any: Notifies the runners, after the commit. */
void mail_outbox_notify(struct directory *directory, const struct project *project);
