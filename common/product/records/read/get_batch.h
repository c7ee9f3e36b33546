#pragma once
/*
 * Single records by id, the most frequent call of all. Concurrent gets that
 * would run the same statement for the same caller within one loop turn are answered by one
 * statement (id = any(...)), which PostgreSQL serves several times faster than one round trip each.
 */
#include "records/records.h"

#define GET_BATCH_IDS 64

/* GET_NOT_BATCHED: the model keeps no more statements: run one of its own. */

/* co: a record with all readable fields; not inside transactions. 0, negatives, RECORDS_FAILED
 * (not_found, ...), RECORDS_SCHEMA or GET_NOT_BATCHED. */
AWAITS int get_batched(struct records_ctx *ctx,
                       const struct entity *entity,
                       int64_t id,
                       struct strbuf *out,
                       int64_t *ret_version) MUSTCHECK;

struct get_stats {
    uint64_t gets, statements; /* since the process started */
};
void get_stats(struct get_stats *ret_stats);
