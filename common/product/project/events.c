/* Outbox rows. */
#include "project/events.h"

#include "base/panic.h"
#include "events_sql.h"

#define OUTBOX_PARAMS       9
#define OUTBOX_PLAIN_PARAMS 2

static const char *event_name(enum model_event event)
{
    switch (event) {
    case EVENT_CREATED:
        return "EntityCreated";
    case EVENT_UPDATED:
        return "EntityUpdated";
    case EVENT_DELETED:
        return "EntityDeleted";
    }
    PANIC("unknown event %d", (int)event);
}

struct db_call events_outbox_call(struct arena *arena, const struct outbox_row *row)
{
    struct db_param *params = ARENA_ARRAY(arena, params, OUTBOX_PARAMS);

    params[0] = P_I64(entity_consumers(row->entity, row->event));
    params[1] = P_CSTR(event_name(row->event));
    params[2] = P_I64(row->entity->id);
    params[3] = P_I64(row->record_id);
    params[4] = P_STR(row->payload);
    params[5] = row->actor_id != 0 ? P_I64(row->actor_id) : P_NULL;
    params[6] = P_I64(row->depth);
    params[7] = row->traceparent.len ? P_STR(row->traceparent) : P_NULL;
    params[8] = row->root != 0 ? P_I64(row->root) : P_NULL;
    return (struct db_call){.sql = &SQL_OUTBOX_ADD, .params = params, .param_count = OUTBOX_PARAMS};
}

struct db_call events_outbox_plain_call(struct arena *arena, const char *event, struct str payload)
{
    struct db_param *params = ARENA_ARRAY(arena, params, OUTBOX_PLAIN_PARAMS);

    params[0] = P_CSTR(event);
    params[1] = P_STR(payload);
    return (struct db_call){
        .sql = &SQL_OUTBOX_ADD_PLAIN, .params = params, .param_count = OUTBOX_PLAIN_PARAMS};
}
