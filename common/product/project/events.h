#pragma once
/*
 * Outbox rows: written in the transaction of the change, only when somebody listens. A row's
 * `pending` has a bit for each consumer that still has to take it. events_notify() after the commit
 * notifies them over Redis; the consumers' sweepers find rows whose notification was lost.
 */
#include "db/db.h"
#include "model/model.h"
#include "project/project.h"

struct outbox_row {
    const struct entity *entity; /* NULL: an event of none (EVENT_PAYMENT_SUCCEEDED ...) */
    enum event_kind event;
    int64_t record_id;
    struct str payload; /* JSON text: the record, or what the event is about */
    int64_t actor_id;   /* 0 = none */
    int depth;
    int64_t root;           /* what began the chain of events that it belongs to, 0 = this one */
    struct str traceparent; /* may be empty */
};

/* any: the call that adds one outbox row; parameters live in `arena`, the texts stay the caller's,
 * who puts it behind the change in the same db_batch or transaction. Of an entity it is added in
 * any case; of none when an enabled workflow listens to it at that moment: rows.affected says so.
 */
struct db_call events_outbox_call(struct arena *arena, const struct outbox_row *row);
/* any: the same for records that nobody but the search index wants to hear of: one statement for
 * all of them, without payloads. */
struct db_call events_changed_call(struct arena *arena,
                                   const struct entity *entity,
                                   enum event_kind event,
                                   const int64_t *ids,
                                   size_t count);
/* any: a user ('u'), group ('g') or role ('r') goes and takes its grants along: the search index
 * looks at its records, some at a time. */
struct db_call events_principal_gone_call(struct arena *arena, char kind, int64_t id);
/* any: more records of these entities changed than one transaction can name: the search index
 * compares all of them, some at a time. */
struct db_call events_check_call(struct arena *arena, const int64_t *entity_ids, size_t count);
/* any: the beginning of events_outbox_call()'s statement for a record whose id and payload
 * PostgreSQL makes: the SQL of both follows, with a comma between; their own parameters are
 * numbered behind the first OUTBOX_PARAMS of events_outbox_call(), which are the statement's, too.
 */
struct str events_outbox_head(void);
#define OUTBOX_PARAMS 7
