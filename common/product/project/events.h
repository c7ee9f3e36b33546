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
/* any: the beginning of that statement for a record whose id and payload PostgreSQL makes: the SQL
 * of both follows, with a comma between; their own parameters are numbered behind the first
 * OUTBOX_PARAMS of events_outbox_call(), which are the statement's, too. */
struct str events_outbox_head(void);
#define OUTBOX_PARAMS 7
