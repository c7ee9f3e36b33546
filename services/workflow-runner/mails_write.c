/* Writes about a project's mails at the same time are one transaction, and share a commit. */
#include "loop/batches.h"
#include "mails.h"

/* One mail's part of a write, on the stack of the mail's coroutine. */
struct mail_write {
    struct batch_entry entry;
    const struct claimed_mail *mail;
    const struct db_call *call;
    size_t rows;
};

static struct mail_write *mail_write_of(struct batch_entry *entry)
{
    return CONTAINER_OF(entry, struct mail_write, entry);
}

/* Orders writes by mail, so that two processes that write about the same mails cannot deadlock. */
static int compare_by_mail(const void *left, const void *right)
{
    int64_t a = mail_write_of(*(struct batch_entry *const *)left)->mail->item.id;
    int64_t b = mail_write_of(*(struct batch_entry *const *)right)->mail->item.id;

    return (a > b) - (a < b);
}

AWAITS static int
write_mails(struct task *task, struct batch_entry **entries, size_t count, size_t *ret_failed)
{
    struct db_call *calls = ARENA_ARRAY(task->arena, calls, count);
    struct db db = mail_write_of(entries[0])->mail->item.project->db;

    for (size_t i = 0; i < count; i++)
        calls[i] = *mail_write_of(entries[i])->call;
    TRY(db_batch(task, &db, calls, count, ret_failed));
    for (size_t i = 0; i < count; i++)
        mail_write_of(entries[i])->rows = calls[i].rows.count;
    return 0;
}

static enum batch_end write_judge(int rc)
{
    bool refused = rc == DB_CHECK || rc == DB_FAILED || rc == DB_TOO_LARGE;

    return refused ? BATCH_REFUSED : BATCH_ENDED;
}

static struct batches writes = {
    .at_once = 2,
    .max_entries = 64,
    .bytes = (size_t)1 << 20,
    .limit_ms = 6000, /* a little longer than the default limit of a statement */
    .order = compare_by_mail,
    .write = write_mails,
    .judge = write_judge,
};

int mails_write(struct task *task,
                const struct claimed_mail *mail,
                struct db_call call,
                size_t *ret_rows)
{
    struct mail_write write = {.entry.bytes = 1, .mail = mail, .call = &call};
    int rc = batches_write(task, &writes, mail->item.project->number, &write.entry);

    *ret_rows = write.rows;
    return rc;
}
