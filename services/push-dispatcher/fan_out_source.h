#pragma once
/*
 * Writes the delivery rows of records that have a token of FCM in a field: each such record is a
 * device. No row rule applies: all records are read, as the administrator who configured the field
 * may do.
 */
#include "send.h"

/* any: Whether the send has devices that are records. */
bool fan_out_has_source(const struct send *send);
/* co: Reads the next page of records and writes their rows of push_deliveries, committed with the
 * position that it has reached. After the last page, or without a source, send->fan_out_stage
 * becomes `next_stage`. `entity_id`: for an audience of one record's devices, the entity of that
 * record. *ret_rows has the columns of sql_fan_out_row. Returns 0, a DB_*, or a negative. */
AWAITS int fan_out_source_page(struct task *task,
                               struct send *send,
                               int64_t entity_id,
                               int next_stage,
                               struct rows *ret_rows) MUSTCHECK;
