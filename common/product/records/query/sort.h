#pragma once
/*
 * Orders, as in "-created_at,author.name". The id is always the last key, so that
 * every order is total; nulls come last in both directions.
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

/* any: finds the fields of query->sort. 0 or RECORDS_FAILED (invalid_query). */
int sort_plan(struct records_ctx *ctx,
              const struct entity *entity,
              const struct records_query *query,
              struct sort *ret_sort) MUSTCHECK;
/* any: appends " order by ...". */
void sort_order(const struct records_ctx *ctx,
                const struct sort *sort,
                const char *alias,
                struct strbuf *sql,
                struct sql_params *params);
