#pragma once
/* The row rule, which every statement over records contains. */
#include "records/rules/statement.h"

/* any: whether a row rule applies to this caller on this entity. */
bool rls_applies(const struct records_ctx *ctx, const struct entity *entity);
/* any: appends " and (<row rule>)" for ACT_READ, ACT_UPDATE or ACT_DELETE on the row named `alias`,
 * or nothing if no rule applies. Returns whether it appended the rule. */
bool rls_put_where(const struct records_ctx *ctx,
                   const struct entity *entity,
                   enum perm_action action,
                   const char *alias,
                   struct strbuf *sql,
                   struct sql_params *params);
/* any: adds a row rule's parameters for a cached text whose first parameter is its own. Adds
 * `count` of them, in the order in which rls_put_where() numbered them. */
void rls_bind(const struct records_ctx *ctx, struct sql_params *params, size_t count);
