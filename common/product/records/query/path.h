#pragma once
/*
 * Internal to records/: "author.country", a readable field reached through relations the caller may
 * follow, in filters, sort and group_by.
 */
#include "records/rules/statement.h"

#define PATH_STEPS 4

struct path {
    const struct model_field *steps[PATH_STEPS]; /* relations on the way */
    size_t count;
    const struct model_field *field;
    struct str collation; /* of a text: the order that it is compared in; empty: C's, or no text */
};

/* any: false when any part does not exist or may not be read, or there are too many: one answer for
 * all, so that it does not reveal which part exists. */
bool path_find(const struct records_ctx *ctx,
               const struct entity *entity,
               struct str text,
               struct path *ret_path);
/* A relation to many records is on the way: there is no single value. */
bool path_many(const struct path *path);
/* The value may be null. */
bool path_nullable(const struct path *path);
/* any: appends the value as an expression on the row named `alias`: "t.f_3", or sub-selects over
 * to-one relations with the row rule of each (invisible = null). */
void path_value(const struct records_ctx *ctx,
                const struct path *path,
                const char *alias,
                struct strbuf *sql,
                struct sql_params *params);
/* any: the same where it is ordered or compared by more and less: texts as the project's locale
 * has them. The order is total: what the locale does not tell apart comes by its bytes. */
void path_ordered(const struct records_ctx *ctx,
                  const struct path *path,
                  const char *alias,
                  struct strbuf *sql,
                  struct sql_params *params);
