#pragma once
/*
 * Mail that waits to be sent: a row written in the transaction that causes it. Runners send it
 * (services/workflow-runner/mails), whoever wrote it.
 */
#include "db/db.h"
#include "project/project.h"

#define MAIL_LINK_MINUTES 60 /* how long a link in a mail works */
#define MAIL_LINK_MS      ((int64_t)MAIL_LINK_MINUTES * 60 * 1000)
#define MAIL_GIVE_UP      ((int64_t)24 * 3600 * 1000) /* how long sending is tried */
#define MAIL_NOTIFIED     "mail.queued"

struct mail_entry {
    const char *type;     /* of a template, "workflow" or "test" */
    struct str recipient; /* the first */
    int64_t user_id;      /* 0 = not known, or not yet */
    struct str content;   /* JSON object: what the type's sender reads */
    int64_t give_up_ms;   /* from now on */
};
/* any: the call that writes the row, in the project's transaction. */
struct db_call mail_outbox_call(struct arena *arena, const struct mail_entry *entry);
/* co: before the first such transaction: runners look at the project from then on. 0, a DB_* or a
 * negative. */
AWAITS int mail_outbox_register(struct task *task,
                                struct directory *directory,
                                const struct project *project) MUSTCHECK;
/* any: after the commit. */
void mail_outbox_notify(struct directory *directory, const struct project *project);
