#pragma once
/*
 * What handlers are written with. The first argument is the request. Every function returns 0, a
 * negative, or the HTTP status that it has already put into the response, so that a handler
 * forwards with TRY() and returns what reply_*() or fail() gave it:
 *
 *   AWAITS static int groups_create(struct req *r)
 *   {
 *       struct group_in in;
 *       struct rows group;
 *
 *       TRY(req_json(r, &group_schema, &in));
 *       TRY(sql_one(r, &group,
 *                   SQL_GROUP_ADD(.name = in.name.value, .description = in.description.value)));
 *       return reply_created(r, &group);
 *   }
 *
 * SQL errors become: unique 409, foreign key 409, not null/check/22xxx 400, serialisation, deadlock
 * and a changed model 503 (the gateway runs the handler again first), lock_timeout 503, statement
 * timeout 504, unavailable 503, everything else 500.
 */
#include "app/scope.h"
#include "db/db.h"
#include "http/page.h"
#include "http/resp.h"
#include "http/route.h"
#include "json/schema.h"

/* --- answers --- */

/* Problem body (RFC 9457) of catalog/problem.def; its status. `detail` is a format or
 * NULL. */
int fail(struct req *r, enum problem problem, const char *detail, ...) PRINTF_LIKE(3, 4);
/* validation_failed with the findings in "errors". */
int fail_fields(struct req *r, const struct schema_errors *errors);
/* One finding: validation_failed naming the field. */
int fail_field(struct req *r, const char *field, enum problem code, const char *message, ...)
    PRINTF_LIKE(4, 5);
/* Problem with a given code and findings. */
int fail_with(struct req *r,
              enum problem problem,
              struct str detail,
              const struct schema_errors *errors);
/* 409 unique_violation with one finding: why the value of `field` cannot be had ("is taken"). */
int fail_taken(struct req *r, const char *field, const char *why, const char *detail);
/* 400: more than one answer may hold. */
int fail_too_large(struct req *r);
/* A DB_*; what is none is a 500. */
int fail_db(struct req *r, int rc);
/* A result of the database, or of what asks it, as an answer: 0, a negative, or the status put. */
int sql_check(struct req *r, int rc) MUSTCHECK;
/* 500: `rc` arose here. */
#define fail_internal(r, rc) ((void)ERROR(rc), fail((r), PROBLEM_INTERNAL, NULL))
/* The response of a problem that arose outside a handler (http_config.problem). */
void problem_put(struct req *r, int status, enum problem problem, const char *detail);

/* The JSON that was written with resp_json(r). */
int reply_json(struct req *r, int status);
int reply_empty(struct req *r, int status); /* 204, 202 without body */
/* Row 0, all columns but those starting with '_'. */
int reply_row(struct req *r, int status, const struct rows *rows);
/* 201 with row 0 and Location: <request path>/<id>. */
int reply_created(struct req *r, const struct rows *rows);
void reply_location(struct req *r, int64_t id);

/* --- input --- */

/* co: reads the body as JSON against the schema. 400, 408, 413, 415 on its own. */
AWAITS int req_json(struct req *r, const struct schema *schema, void *ret_struct) MUSTCHECK;
/* co: the body as any JSON object; *ret_body NULL when there is none and the route says
 * optional. */
AWAITS int req_json_any(struct req *r, json_t **ret_body) MUSTCHECK;
/* Is the body of a type that handlers of JSON read: JSON, a form, or no word of it? */
bool req_body_has_type(const struct req *r);
/* co: the whole text of the body, as it will be handed to the handler. 408, 413, ... on its own. */
AWAITS int req_body_text(struct req *r, struct str *ret_text) MUSTCHECK;
/* Whether the body is gzip; 415 for any other Content-Encoding, and for gzip with NULL. */
int req_encoding(struct req *r, bool *ret_gzip) MUSTCHECK;
struct seat;
/* co: unpacks the body that req_body_text() has read: its bytes are counted with the seat, and
 * handlers read what it holds. 400, 413, ... on its own. */
AWAITS int req_body_unpack(struct req *r, struct seat *seat, struct str *ret_text) MUSTCHECK;
/* The most bytes that a JSON body may have here: the route's limit, or the server's. */
size_t req_json_max(const struct req *r);
/* co: the text of a JSON body, which is not looked at; empty only where the body is optional. */
AWAITS int req_json_unparsed(struct req *r, struct str *ret_text) MUSTCHECK;
/* any: whether the route reads a body of this length as a text (route.large_as_text). */
bool req_json_is_large(const struct req *r, struct str body);
/* co: the text of a body that may be any JSON value, checked as every body is; STR_NONE when there
 * is none and the route says optional. */
AWAITS int req_json_text(struct req *r, struct str *ret_text) MUSTCHECK;
/* Path parameter as an id; anything but a positive integer is 404. */
int req_id(struct req *r, const char *param, int64_t *ret_id) MUSTCHECK;
/* The query string, parsed once and checked against route->query (unknown_parameter, type,
 * bounds). */
int req_query(struct req *r, const struct query **ret_query) MUSTCHECK;
/* Page parameters. */
int req_page(struct req *r, struct page *ret_page) MUSTCHECK;

/* --- SQL on r->scope->db: the project's schema, or the open transaction --- */

/* Exactly one row: none is 404 not_found. */
AWAITS int sql_one(struct req *r,
                   struct rows *ret_rows,
                   const struct sql *sql,
                   const struct db_param *params,
                   size_t count) MUSTCHECK;
/* Any number of rows. */
AWAITS int sql_all(struct req *r,
                   struct rows *ret_rows,
                   const struct sql *sql,
                   const struct db_param *params,
                   size_t count) MUSTCHECK;
/* No rows wanted; *ret_affected may be NULL. */
AWAITS int sql_exec(struct req *r,
                    int64_t *ret_affected,
                    const struct sql *sql,
                    const struct db_param *params,
                    size_t count) MUSTCHECK;
/* Several in one round trip, one transaction. */
AWAITS int sql_batch(struct req *r, struct db_call *calls, size_t count) MUSTCHECK;
/* r->scope->db becomes a transaction until sql_commit; it is rolled back when the handler returns
 * without. Until one is committed each begins with r->scope->begun(), which may refuse. */
AWAITS int sql_begin(struct req *r) MUSTCHECK;
/* The same for one that changes schemas (db_begin_ddl()). */
AWAITS int sql_begin_ddl(struct req *r) MUSTCHECK;
AWAITS int sql_commit(struct req *r) MUSTCHECK;
/* co: in a transaction that somebody else begins and commits: what sql_begin() begins with. A
 * status when the request is refused: it is rolled back then. */
AWAITS int sql_begun(struct req *r, struct db *tx) MUSTCHECK;
/* A whole list endpoint: page parameters, ORDER BY, count and rows in one round trip, the envelope.
 * `sql` is a :page statement; the default order is its first sortable column, ascending ('-'
 * reverses). */
AWAITS int reply_page(struct req *r,
                      const char *default_sort,
                      const struct sql *sql,
                      const struct db_param *params,
                      size_t count);
/* co: changes a row before it is written (rows_replace()): what the caller may not see of it. */
typedef void (*reply_row_fn)(struct req *r, const struct rows *rows, size_t row);
/* The same, with rows as `show` leaves them. */
AWAITS int reply_page_shown(struct req *r,
                            const char *default_sort,
                            reply_row_fn show,
                            const struct sql *sql,
                            const struct db_param *params,
                            size_t count);
/* page, limit, sort, order, count: for route tables, alone or with more. */
extern const struct query_param page_query[];
/* clang-format off */
#define PAGE_QUERY                                                                                 \
    {.name = "page", .type = FIELD_I64, .has_min = true, .min = 1, .fallback = "1",                \
     .doc = "Page number, from 1"},                                                                \
    {.name = "limit", .type = FIELD_I64, .has_min = true, .min = 1, .has_max = true, .max = 500,   \
     .fallback = "20", .doc = "Records per page"},                                                 \
    {.name = "sort", .type = FIELD_STR, .doc = "Field to sort by; '-' in front reverses"},         \
    {.name = "order", .type = FIELD_STR, .values = page_orders,                                    \
     .doc = "Direction for a single sort field"},                                                  \
    {.name = "count", .type = FIELD_BOOL, .fallback = "true",                                      \
     .doc = "false leaves the count out: total_items is then -1"}
/* clang-format on */
extern const char *const page_orders[]; /* asc, desc */
