#pragma once
/* Removes data of deleted records that is not in their fields. */
#include "records/rules/statement.h"
#include "records/write/links.h"

/* any: Adds the statements that remove grants, locks and push devices of deleted records. Records
 * that still exist are left alone. */
void delete_forget_calls(struct records_ctx *ctx,
                         const struct entity *entity,
                         const int64_t *ids,
                         size_t count,
                         struct write_calls *calls);
/* any: Appends "returning" with the columns of the event payload when a consumer needs a payload,
 * else with the id. 0 or RECORDS_FAILED. */
int delete_put_returning(struct records_ctx *ctx,
                         const struct entity *entity,
                         struct strbuf *sql,
                         struct sql_params *params) MUSTCHECK;
