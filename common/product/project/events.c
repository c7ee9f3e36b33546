/* Outbox rows. */
#include "project/events.h"

#include <string.h>

#include "base/panic.h"
#include "events_sql.h"

struct db_call events_outbox_call(struct arena *arena, const struct outbox_row *row)
{
    const struct entity *entity = row->entity;
    struct db_call call =
        db_call_new(arena,
                    SQL_OUTBOX_ADD(.pending = entity ? entity_consumers(entity, row->event)
                                                     : CONSUMER_WORKFLOWS,
                                   .event = str_from(event_name(row->event)),
                                   .entity_id = entity ? entity->id : 0,
                                   .actor_id = some_id(row->actor_id),
                                   .depth = row->depth,
                                   .trace = row->traceparent.len ? row->traceparent : STR_NONE,
                                   .root = some_id(row->root),
                                   .record_id = row->record_id,
                                   .payload = row->payload));

    if (!entity)
        call.sql = &SQL_OUTBOX_ADD_HEARD;
    return call;
}

struct db_call events_changed_call(struct arena *arena,
                                   const struct entity *entity,
                                   enum event_kind event,
                                   const int64_t *ids,
                                   size_t count)
{
    return db_call_new(arena,
                       SQL_OUTBOX_ADD_CHANGED(.event = str_from(event_name(event)),
                                              .entity_id = entity->id,
                                              .ids = sql_i64s(ids, count)));
}

struct db_call events_principal_gone_call(struct arena *arena, char kind, int64_t id)
{
    return db_call_new(
        arena,
        SQL_SEARCH_PRINCIPAL_GONE(.term = arena_printf(arena, "@%c%lld", kind, (long long)id)));
}

struct db_call events_check_call(struct arena *arena, const int64_t *entity_ids, size_t count)
{
    return db_call_new(arena, SQL_SEARCH_CHECK(.entity_ids = sql_i64s(entity_ids, count)));
}

struct str events_outbox_head(void)
{
    const char *text = SQL_OUTBOX_ADD.text;
    const char *end = strstr(text, "$8::bigint, $9::jsonb");

    MUST(end && SQL_OUTBOX_ADD.arity == OUTBOX_PARAMS + 2);
    return (struct str){text, (size_t)(end - text)};
}
