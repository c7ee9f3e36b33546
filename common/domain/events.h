#pragma once
/*
 * Outbox rows: written in the transaction of the change, only when somebody listens. Redis is the
 * doorbell: events_ring() after commit; the consumer's sweeper finds rows whose bell was lost.
 */
#include "db/db.h"
#include "domain/model.h"
#include "domain/project.h"

/* any: the call that adds one outbox row; parameters live in `arena`. `payload` is the record as JSON
 * text. The caller puts it behind the change in the same db_batch or transaction. */
struct db_call events_outbox_call(struct arena *arena, const struct entity *entity,
                                  enum model_event event, int64_t record_id, struct str payload,
                                  int64_t actor_id, int depth);
/* any: fire and forget: XADD evt:{p<partition>} * project <number>. */
void events_ring(struct directory *directory, const struct project *project);
