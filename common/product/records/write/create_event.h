#pragma once
/* Writes the event of a new record in the same round trip as its INSERT. */
#include "records/write/body.h"

/* any: Builds the call that writes the outbox row of a new record without links. Put the call after
 * the record's INSERT in the same batch. *ret_known is false, and *ret_call is not set, when the
 * payload is not known before the record is stored. 0 or RECORDS_FAILED. */
int create_event_call(struct records_ctx *ctx,
                      const struct entity *entity,
                      const struct write_row *row,
                      bool *ret_known,
                      struct db_call *ret_call) MUSTCHECK;
