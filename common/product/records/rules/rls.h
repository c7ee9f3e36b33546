#pragma once
/* The row rule that every statement over records carries. */
#include "records/rules/statement.h"

/* A row rule applies to this caller on this entity. */
bool rls_applies(const struct records_ctx *ctx, const struct entity *entity);
/* Appends " and (<row rule>)" for ACT_READ, ACT_UPDATE or ACT_DELETE on the row named `alias`, or
 * nothing when no rule applies. Returns whether it did. */
bool rls_where(const struct records_ctx *ctx,
               const struct entity *entity,
               enum perm_action action,
               const char *alias,
               struct strbuf *sql,
               struct sql_params *params);
/* Adds a row rule's parameters to those of a kept text that begins with one parameter of its own:
 * `count` of them, in the order in which rls_where() numbered them. */
void rls_bind(const struct records_ctx *ctx, struct sql_params *params, size_t count);
