#pragma once
/*
 * Internal to records/: parameters of dynamic statements, and the row and field rules every statement
 * carries. Texts depend only on model and mode, never on the caller's ids, so that all callers share
 * one prepared statement.
 */
#include "records/records.h"

/* Statement texts are bounded by field counts and by the 50 conditions of a filter. */
#define RECORDS_SQL_BYTES ((size_t)1 << 20)

/* Growing parameter list in an arena. */
struct sql_params {
    struct arena *arena; /* borrowed */
    struct db_param *items;
    size_t count;
    size_t cap;
    unsigned caller[4]; /* numbers of the caller's user, groups, roles, group scope; 0 = not bound yet */
};
void sql_params_init(struct sql_params *params, struct arena *arena);
/* Adds a parameter; returns its number n for "$n". Texts are borrowed until the statement is sent. */
unsigned sql_params_add(struct sql_params *params, struct db_param param);
/* Adds a parameter and appends "$n::type". `type` is one of our own literals. */
void sql_bind(struct strbuf *sql,
              struct sql_params *params,
              struct db_param param,
              const char *type);
/* A statement of the finished text: hash of text and model version, arena-owned. The reader sets
 * writes and heavy afterwards. `name` is for logs: "records.list". */
struct sql *sql_dynamic(struct records_ctx *ctx,
                        const char *name,
                        struct strbuf *text,
                        size_t arity,
                        enum sql_kind kind);

/* The caller may read records of the entity at all (relations lead to other entities). */
bool rls_entity(const struct records_ctx *ctx, const struct entity *entity);
/* Field rule of the context: public fields only on the public route, else caller_field(). A secret or
 * relation field is like any other here. Use this, not caller_field(), everywhere in records/. */
bool rls_field(const struct records_ctx *ctx,
               const struct model_field *field,
               enum perm_action action);
/* Readable field by name; NULL when there is none or the caller may not read it: one answer. */
const struct model_field *
rls_find(const struct records_ctx *ctx, const struct entity *entity, struct str name);
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
