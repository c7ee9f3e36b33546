#pragma once
/*
 * Outbox rows: written in the transaction of the change, only when somebody listens. A row's
 * `pending` has a bit for each consumer that still has to take it. Redis is the doorbell:
 * events_ring() after commit; the consumers' sweepers find rows whose bell was lost.
 */
#include "db/db.h"
#include "model/model.h"
#include "project/project.h"

struct outbox_row {
    const struct entity *entity;
    enum event_kind event;
    int64_t record_id;
    struct str payload; /* the record as JSON text */
    int64_t actor_id;   /* 0 = none */
    int depth;
    int64_t root;           /* what began the chain of events that it belongs to, 0 = this one */
    struct str traceparent; /* may be empty */
};

/* any: the call that adds one outbox row; parameters live in `arena`, the texts stay the caller's,
 * who puts it behind the change in the same db_batch or transaction. */
struct db_call events_outbox_call(struct arena *arena, const struct outbox_row *row);
/* any: the same for an event of no entity (EVENT_PAYMENT_SUCCEEDED ...). The row is added when an
 * enabled workflow listens to it at that moment: rows.affected of the call tells. */
struct db_call
events_outbox_plain_call(struct arena *arena, enum event_kind event, struct str payload);
/* any: fire and forget: tells the consumers that the project has outbox rows. */
void events_ring(struct directory *directory, const struct project *project);
