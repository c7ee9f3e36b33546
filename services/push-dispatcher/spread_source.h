#pragma once
/*
 * Tokens of FCM that stand in a column of an entity: each record with one is a device. Rows of all
 * records are read, as the administrator who has named the column may: no row rule applies.
 */
#include "send.h"

/* any: whether the send asks for devices of a source. */
bool spread_has_source(const struct send *send);
/* co: the next page of the source's rows of push_deliveries, committed with how far it has come;
 * with none, or without a source, the next stage. `entity_id`: of an audience that is a record's
 * devices. ret_rows as of the other pages: SQL_SPREAD_... 0, a DB_*, or a negative. */
AWAITS int spread_source_page(struct task *task,
                              struct send *send,
                              int64_t entity_id,
                              int next_stage,
                              struct rows *ret_rows) MUSTCHECK;
