/* Outbox rows. */
#include "domain/events.h"

#include "base/panic.h"
#include "domain_events_sql.h"

#define OUTBOX_PARAMS 8

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

struct db_call events_outbox_call(struct arena *arena,
                                  const struct entity *entity,
                                  enum model_event event,
                                  int64_t record_id,
                                  struct str payload,
                                  int64_t actor_id,
                                  int depth,
                                  struct str traceparent)
{
    struct db_param *params = ARENA_ARRAY(arena, params, OUTBOX_PARAMS);

    params[0] = P_I64(entity_consumers(entity, event));
    params[1] = P_CSTR(event_name(event));
    params[2] = P_I64(entity->id);
    params[3] = P_I64(record_id);
    params[4] = P_STR(payload);
    params[5] = actor_id != 0 ? P_I64(actor_id) : P_NULL;
    params[6] = P_I64(depth);
    params[7] = traceparent.len ? P_STR(traceparent) : P_NULL;
    return (struct db_call){.sql = &SQL_OUTBOX_ADD, .params = params, .param_count = OUTBOX_PARAMS};
}
