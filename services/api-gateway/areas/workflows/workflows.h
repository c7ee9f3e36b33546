#pragma once
/*
 * What the workflow areas share: schemas, saving, and lists that are walked along a number. Workflows are
 * rows of the project; every save keeps the version before it, because jobs run the version that they were
 * queued with.
 */
#include "app.h"

/* Body of create and update. */
struct workflow_in {
    struct in_str name;
    struct in_bool enabled;
    struct in_obj trigger; /* json_t */
    struct in_str start_step;
    struct in_list steps; /* json_t * each */
};
#define WORKFLOW_BYTES_MAX 262144 /* of the document that is kept */

extern const struct schema workflow_create_schema;
extern const struct schema workflow_update_schema;
extern const struct schema workflow_schema;
extern const struct schema workflow_version_schema;
extern const struct schema workflow_version_listed_schema;
extern const struct schema job_schema;
extern const struct schema job_listed_schema;
extern const char *const job_statuses[];

/* co: saves a new workflow (id 0) or changes one, checked whole, and makes the caller its editor. An id that
 * is not there, a stale If-Match, and everything that is wrong with the workflow are answered. */
AWAITS int workflow_save(struct req *r, const struct workflow_in *in, int64_t id, int64_t *ret_id) MUSTCHECK;

/* 412 unless If-Match allowed this version. */
struct items_match;
int workflow_check_version(struct req *r, const struct items_match *match, int64_t version) MUSTCHECK;

/* Statements of a list in both directions of a number, newest first by default. Their parameters are the
 * list's own, then the number to begin behind, limit and offset; `count` has the list's own only. */
struct walk_list {
    const struct sql *newest, *oldest, *count;
    const char *key; /* column of the number; also what sort= may name */
};
/* page, limit, sort, order, count and cursor: the query of such a list, besides what the list adds. */
/* clang-format off */
#define WALK_QUERY                                                                                 \
    PAGE_QUERY,                                                                                    \
    {.name = "cursor", .type = FIELD_STR,                                                          \
     .doc = "'start', then the next_cursor of each answer: walks a list of any size"}
/* clang-format on */
extern const struct query_param walk_query[];
/* co: the whole answer: envelope, and next_cursor when the walk was asked for. */
AWAITS int walk_reply(struct req *r, const struct walk_list *list, const struct db_param *params, size_t count);
