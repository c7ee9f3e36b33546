/*
 * Inserts concurrent events together. Each event is a statement of its own in one transaction for
 * all of them. The statements are in the order of the events' ids, so that two processes that
 * receive the same events wait for each other in one direction only.
 */
#include "insert.h"

#include "app/scope.h"
#include "loop/batches.h"
#include "project/project.h"
#include "webhook_ingest_sql.h"

/* Lives on the stack of the request's coroutine. */
struct insert {
    struct batch_entry entry;
    const struct db *db;
    const struct event_row *event;
    bool is_new;
};

static struct insert *insert_of_entry(struct batch_entry *entry)
{
    return CONTAINER_OF(entry, struct insert, entry);
}

static int event_compare(const void *left, const void *right)
{
    const struct event_row *a = insert_of_entry(*(struct batch_entry *const *)left)->event;
    const struct event_row *b = insert_of_entry(*(struct batch_entry *const *)right)->event;
    int order = str_cmp(a->source, b->source);

    return order != 0 ? order : str_cmp(a->id, b->id);
}

static struct db_call insert_call(struct arena *arena, const struct event_row *event)
{
    return db_call_new(arena,
                       SQL_EVENT_STORE(.source = event->source,
                                       .event_id = event->id,
                                       .type = event->type,
                                       .subtype = event->subtype,
                                       .api_version = event->api_version,
                                       .account = event->account,
                                       .created_at = event->created_ms,
                                       .payload = event->payload,
                                       .supported = event->supported));
}

AWAITS static int
insert_events(struct task *task, struct batch_entry **entries, size_t count, size_t *ret_failed)
{
    struct db_call *calls = ARENA_ARRAY(task->arena, calls, count);
    struct db db = *insert_of_entry(entries[0])->db;

    for (size_t i = 0; i < count; i++)
        calls[i] = insert_call(task->arena, insert_of_entry(entries[i])->event);
    TRY(db_batch(task, &db, calls, count, ret_failed));
    for (size_t i = 0; i < count; i++)
        insert_of_entry(entries[i])->is_new = calls[i].rows.affected == 1;
    return 0;
}

static enum batch_end insert_judge(int rc)
{
    bool refused = rc == DB_CHECK || rc == DB_FAILED || rc == DB_TOO_LARGE;

    return refused ? BATCH_REFUSED : BATCH_ENDED;
}

static struct batches inserts = {
    .at_once = 4,
    .max_entries = 64,
    .bytes = (size_t)1 << 20,
    .limit_ms = 6000, /* a little more than a statement may take by default */
    .order = event_compare,
    .write = insert_events,
    .judge = insert_judge,
};

int insert_event(struct req *r, const struct event_row *event, bool *ret_new)
{
    const struct db *db = r->scope->db;
    struct insert insert = {.entry.bytes = event->payload.len, .db = db, .event = event};
    int rc = batches_write(&r->task, &inserts, db->schema, &insert.entry);

    *ret_new = insert.is_new;
    return rc;
}
