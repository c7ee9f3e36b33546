#pragma once
/* The event of a record in the round trip of its INSERT. */
#include "records/write/body.h"

/* any: the outbox row of a record without links whose INSERT stands before it in the same batch.
 * *ret_known is false when its payload is not known before the record is stored. */
int create_event_call(struct records_ctx *ctx,
                      const struct entity *entity,
                      const struct write_row *row,
                      bool *ret_known,
                      struct db_call *ret_call) MUSTCHECK;
