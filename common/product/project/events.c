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

struct str events_outbox_head(void)
{
    const char *text = SQL_OUTBOX_ADD.text;
    const char *end = strstr(text, "$8::bigint, $9::jsonb");

    MUST(end && SQL_OUTBOX_ADD.arity == OUTBOX_PARAMS + 2);
    return (struct str){text, (size_t)(end - text)};
}
