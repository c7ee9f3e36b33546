#pragma once
/*
 * Paths such as "author.country": a readable field, reached through relations that the caller may
 * follow. Used in filters, sort and group_by.
 */
#include "records/rules/statement.h"

#define PATH_STEPS 4

struct path {
    const struct model_field *steps[PATH_STEPS]; /* relations before the field */
    size_t count;
    const struct model_field *field;
    struct str collation; /* orders a text field; empty = none */
};

/* any: finds a path. Returns false if a part does not exist or the caller may not read it, or if
 * there are too many parts. The result does not reveal which parts exist. */
bool path_find(const struct records_ctx *ctx,
               const struct entity *entity,
               struct str text,
               struct path *ret_path);
/* any: whether a relation to many records is on the path, so that it has no single value. */
bool path_is_many(const struct path *path);
/* any: whether the value may be null. */
bool path_is_nullable(const struct path *path);
/* any: appends the value as an expression on the row named `alias`: "t.f_3", or sub-selects over
 * to-one relations, each with its row rule. A value of an invisible record is null. */
void path_value(const struct records_ctx *ctx,
                const struct path *path,
                const char *alias,
                struct strbuf *sql,
                struct sql_params *params);
/* any: appends the value as path_value() does, for sorting and for comparisons other than equality.
 * Texts have the order of the project's locale; texts that the locale considers equal are ordered
 * by their bytes. */
void path_value_collated(const struct records_ctx *ctx,
                         const struct path *path,
                         const char *alias,
                         struct strbuf *sql,
                         struct sql_params *params);
