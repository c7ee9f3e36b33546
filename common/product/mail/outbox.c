/* Writes mail that waits to be sent. */
#include "mail/outbox.h"

#include "bus/bus.h"
#include "mails_sql.h"

struct db_call mail_outbox_call(struct arena *arena, const struct mail_entry *entry)
{
    return db_call_new(arena,
                       SQL_MAIL_ADD(.type = str_from(entry->type),
                                    .recipient = entry->recipient,
                                    .user_id = some_id(entry->user_id),
                                    .content = entry->content,
                                    .give_up_ms = entry->give_up_ms));
}

int mail_outbox_register(struct task *task,
                         struct directory *directory,
                         const struct project *project)
{
    struct db *control = directory_control(directory);
    struct rows known;

    TRY(db_query(task, control, SQL_MAIL_PROJECT_KNOWN(.number = project->number), &known));
    if (known.count > 0)
        return 0;
    return db_query(task, control, SQL_MAIL_PROJECT_REGISTER(.number = project->number), NULL);
}

void mail_outbox_notify(struct directory *directory, const struct project *project)
{
    bus_notify(directory_bus(directory),
               BUS_MAIL,
               &(struct bus_notification){.project = project->number,
                                          .partition = project->partition,
                                          .kind = MAIL_NOTIFICATION_KIND});
}
