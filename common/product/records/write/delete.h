#pragma once
/* What goes with a record that is not one of its fields. */
#include "records/rules/statement.h"
#include "records/write/links.h"

/* any: adds the statements that remove grants, locks and push devices of records that are gone.
 */
void write_forget_calls(struct records_ctx *ctx,
                        const struct entity *entity,
                        const int64_t *ids,
                        size_t count,
                        struct write_calls *calls);
/* any: "returning" what listeners of a removal get when there are any, else the id.
 */
int write_returning_deleted(struct records_ctx *ctx,
                            const struct entity *entity,
                            struct strbuf *sql,
                            struct sql_params *params) MUSTCHECK;
