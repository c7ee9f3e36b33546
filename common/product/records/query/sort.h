#pragma once
/*
 * Sort orders such as "-created_at,author.name". The id is always the last key, so that every order
 * is total. Nulls are last in both directions.
 */
#include "records/query/path.h"
#include "records/rules/statement.h"

#define SORT_KEYS 5

struct sort {
    struct sort_key {
        struct path path;
        bool descending;
    } keys[SORT_KEYS + 1];
    size_t count;
};

/* any: finds the fields of query->sort. Returns 0 or RECORDS_FAILED (invalid_query). */
int sort_plan(struct records_ctx *ctx,
              const struct entity *entity,
              const struct records_query *query,
              struct sort *ret_sort) MUSTCHECK;
/* any: appends " order by ...". */
void sort_put_order(const struct records_ctx *ctx,
                    const struct sort *sort,
                    const char *alias,
                    struct strbuf *sql,
                    struct sql_params *params);
