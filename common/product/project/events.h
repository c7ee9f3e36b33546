#pragma once
/*
 * Outbox rows. A row is written in the transaction of the change that it reports, and only for an
 * event that has consumers. `pending` has a bit for each consumer that still has to take the row.
 * After the commit events_notify() notifies the consumers over Redis. Their sweeps find rows whose
 * notification was lost.
 */
#include "db/db.h"
#include "model/model.h"
#include "project/project.h"

struct outbox_row {
    const struct entity *entity; /* NULL: event without an entity (EVENT_PAYMENT_SUCCEEDED ...) */
    enum event_kind event;
    int64_t record_id;
    struct str payload; /* JSON text: the record, or data about the event */
    int64_t actor_id;   /* 0 = none */
    int depth;
    int64_t root; /* first event of the chain that caused this one; 0 = the chain starts here */
    struct str traceparent; /* may be empty */
};

/* any: makes the call that inserts one outbox row. Parameters are in `arena`, texts stay the
 * caller's. The caller runs the call after the change, in the same db_batch or transaction. A row
 * with an entity is always inserted. A row without an entity is inserted only if an enabled
 * workflow listens to the event: see rows.affected. */
struct db_call events_outbox_call(struct arena *arena, const struct outbox_row *row);
/* any: makes the call that inserts outbox rows, without payloads, for changes that only the search
 * index needs: one statement for all records. */
struct db_call events_changed_call(struct arena *arena,
                                   const struct entity *entity,
                                   enum event_kind event,
                                   const int64_t *ids,
                                   size_t count);
/* any: makes the call to run when a user ('u'), group ('g') or role ('r') is deleted with its
 * grants. The search indexer then updates the records that were granted, some at a time. */
struct db_call events_principal_gone_call(struct arena *arena, char kind, int64_t id);
/* any: makes the call for changes of more records than one transaction can list. The search indexer
 * then compares all records of these entities, some at a time. */
struct db_call events_check_call(struct arena *arena, const int64_t *entity_ids, size_t count);
/* any: the beginning of events_outbox_call()'s statement, for a record whose id and payload
 * PostgreSQL computes. The caller appends the SQL of both, separated by a comma. The statement's
 * first OUTBOX_PARAMS parameters are those of events_outbox_call(); the caller numbers its own
 * after them. */
struct str events_outbox_head(void);
#define OUTBOX_PARAMS 7
