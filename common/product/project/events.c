/* Outbox rows. */
#include "project/events.h"

#include "events_sql.h"

struct db_call events_outbox_call(struct arena *arena, const struct outbox_row *row)
{

    return db_call_new(arena,
                       SQL_OUTBOX_ADD(.pending = entity_consumers(row->entity, row->event),
                                      .event = str_from(event_name(row->event)),
                                      .entity_id = row->entity->id,
                                      .record_id = row->record_id,
                                      .payload = row->payload,
                                      .actor_id = some_id(row->actor_id),
                                      .depth = row->depth,
                                      .trace = row->traceparent.len ? row->traceparent : STR_NONE,
                                      .root = some_id(row->root)));
}

struct db_call
events_outbox_plain_call(struct arena *arena, enum event_kind event, struct str payload)
{

    return db_call_new(
        arena, SQL_OUTBOX_ADD_PLAIN(.event = str_from(event_name(event)), .payload = payload));
}
