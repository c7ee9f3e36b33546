#pragma once
/*
 * Functions for handlers. The first argument is the request. Every function returns 0, a negative,
 * or the HTTP status that it has already put into the response. A handler therefore forwards with
 * TRY() and returns the result of reply_*() or fail():
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
 * and a changed model 503 (after the gateway has run the handler again), lock_timeout 503,
 * statement timeout 504, unavailable 503, everything else 500.
 */
#include "app/scope.h"
#include "db/db.h"
#include "http/page.h"
#include "http/resp.h"
#include "http/route.h"
#include "json/schema.h"

/* --- answers --- */

/* Puts a problem of catalog/problem.def (RFC 9457) into the response and returns its status.
 * `detail` is a format or NULL. */
int fail(struct req *r, enum problem problem, const char *detail, ...) PRINTF_LIKE(3, 4);
/* Fails with validation_failed and the findings in "errors". */
int fail_fields(struct req *r, const struct schema_errors *errors);
/* Fails with validation_failed and one finding for `field`. */
int fail_field(struct req *r, const char *field, enum problem code, const char *message, ...)
    PRINTF_LIKE(4, 5);
/* Fails with the given problem and findings. `errors` may be NULL. */
int fail_with(struct req *r,
              enum problem problem,
              struct str detail,
              const struct schema_errors *errors);
/* Fails with 409 unique_violation and one finding. `why` says why `field` cannot have this value
 * ("is taken"). */
int fail_unique_violation(struct req *r, const char *field, const char *why, const char *detail);
/* Fails with 400: the answer would exceed the largest answer. */
int fail_too_large(struct req *r);
/* Fails with the problem of a DB_* error; 500 for any other code. */
int fail_db(struct req *r, int rc);
/* Passes 0 and negatives on. A DB_* error fails as in fail_db(). */
int sql_check(struct req *r, int rc) MUSTCHECK;
/* Fails with 500 and records that `rc` arose here. */
#define fail_internal(r, rc) ((void)ERROR(rc), fail((r), PROBLEM_INTERNAL, NULL))
/* Puts a problem that arose outside of a handler into the response (http_config.problem). */
void problem_put(struct req *r, int status, enum problem problem, const char *detail);

/* Responds with the JSON that was written to resp_json(r). */
int reply_json(struct req *r, int status);
int reply_empty(struct req *r, int status); /* without a body: 204, 202 */
/* Responds with row 0: all columns whose names do not start with '_'. */
int reply_row(struct req *r, int status, const struct rows *rows);
/* Responds 201 with row 0, and sets Location to <request path>/<id>. reply_location() only sets the
 * header. */
int reply_created(struct req *r, const struct rows *rows);
void reply_location(struct req *r, int64_t id);

/* --- input --- */

/* co: Reads the body as JSON and decodes it with the schema. May respond 4xx or 503. */
AWAITS int req_json(struct req *r, const struct schema *schema, void *ret_struct) MUSTCHECK;
/* co: Reads the body as any JSON object. *ret_body is NULL when there is no body and the route
 * makes it optional. */
AWAITS int req_json_any(struct req *r, json_t **ret_body) MUSTCHECK;
/* Whether the Content-Type is one that handlers of JSON read: JSON, a form, or none. */
bool req_body_has_type(const struct req *r);
/* co: Reads the whole text of the body, as the handler will receive it. May respond 400, 408, 413
 * or 503. */
AWAITS int req_body_text(struct req *r, struct str *ret_text) MUSTCHECK;
/* Sets *ret_gzip to whether the body is gzip. Responds 415 for any other Content-Encoding; when
 * `ret_gzip` is NULL, for gzip as well. */
int req_encoding(struct req *r, bool *ret_gzip) MUSTCHECK;
struct permit;
/* co: Decompresses the body that req_body_text() has read. Counts its bytes in the permit. Handlers
 * then read the decompressed body. May respond 400, 413, ... */
AWAITS int req_body_unpack(struct req *r, struct permit *permit, struct str *ret_text) MUSTCHECK;
/* Largest JSON body of this route in bytes: the route's limit, or the server's. */
size_t req_json_max(const struct req *r);
/* co: Reads the text of a JSON body without parsing it. Empty only when the route makes the body
 * optional. */
AWAITS int req_json_unparsed(struct req *r, struct str *ret_text) MUSTCHECK;
/* any: Whether the route reads a body of this length as text instead of a tree
 * (route.large_as_text). */
bool req_json_is_large(const struct req *r, struct str body);
/* co: Reads the text of a body that may be any JSON value, and checks its syntax. STR_NONE when
 * there is no body and the route makes it optional. */
AWAITS int req_json_text(struct req *r, struct str *ret_text) MUSTCHECK;
/* Reads a path parameter as an id. Fails with 404 for anything but a positive integer. */
int req_id(struct req *r, const char *param, int64_t *ret_id) MUSTCHECK;
/* Parses the query string once and checks it against route->query (unknown_parameter, type,
 * bounds). */
int req_query(struct req *r, const struct query **ret_query) MUSTCHECK;
/* Reads the parameters of a page. */
int req_page(struct req *r, struct page *ret_page) MUSTCHECK;

/* --- SQL on r->scope->db: the project's schema, or the open transaction --- */

/* co: Runs a statement and returns its first row. Fails with 404 not_found when there is none. */
AWAITS int sql_one(struct req *r,
                   struct rows *ret_rows,
                   const struct sql *sql,
                   const struct db_param *params,
                   size_t count) MUSTCHECK;
/* co: Runs a statement that returns any number of rows. */
AWAITS int sql_all(struct req *r,
                   struct rows *ret_rows,
                   const struct sql *sql,
                   const struct db_param *params,
                   size_t count) MUSTCHECK;
/* co: Runs a statement without reading rows. *ret_affected may be NULL. */
AWAITS int sql_exec(struct req *r,
                    int64_t *ret_affected,
                    const struct sql *sql,
                    const struct db_param *params,
                    size_t count) MUSTCHECK;
/* co: Runs several statements in one round trip and one transaction. */
AWAITS int sql_batch(struct req *r, struct db_call *calls, size_t count) MUSTCHECK;
/* co: Begins a transaction, which is r->scope->db until sql_commit(). The transaction is rolled
 * back when the handler returns without sql_commit(). Until one transaction has been committed,
 * each transaction first runs r->scope->begin_hook(), which may refuse the request. */
AWAITS int sql_begin(struct req *r) MUSTCHECK;
/* co: sql_begin_ddl() is like sql_begin(), for changes of schemas (db_begin_ddl()). sql_commit()
 * commits and sets r->scope->db to the project's database. */
AWAITS int sql_begin_ddl(struct req *r) MUSTCHECK;
AWAITS int sql_commit(struct req *r) MUSTCHECK;
/* co: Runs r->scope->begin_hook() in `tx`, a transaction that the caller begins and commits.
 * Returns a status when the request is refused; the caller then rolls back. */
AWAITS int sql_run_begin_hook(struct req *r, struct db *tx) MUSTCHECK;
/* co: Serves a list endpoint: reads page parameters, runs `sql` with ORDER BY and a count in one
 * round trip, and responds with the envelope. `sql` is a :page statement. `default_sort` is one of
 * its sortable columns, ascending; a '-' before it makes the order descending. */
AWAITS int reply_page(struct req *r,
                      const char *default_sort,
                      const struct sql *sql,
                      const struct db_param *params,
                      size_t count);
/* co: Changes a row before it is written (rows_replace()), to hide what the caller may not see. */
typedef void (*reply_row_fn)(struct req *r, const struct rows *rows, size_t row);
/* co: Like reply_page(), with rows changed by `show`. */
AWAITS int reply_page_masked(struct req *r,
                             const char *default_sort,
                             reply_row_fn show,
                             const struct sql *sql,
                             const struct db_param *params,
                             size_t count);
/* The parameters page, limit, sort, order and count, for route tables: page_query alone, or
 * PAGE_QUERY with more. */
extern const struct query_param page_query[];
/* clang-format off */
#define PAGE_QUERY                                                                                 \
    {.name = "page", .type = FIELD_I64, .has_min = true, .min = 1, .fallback = "1",                \
     .doc = "Page number, from 1"},                                                                \
    {.name = "limit", .type = FIELD_I64, .has_min = true, .min = 1, .has_max = true, .max = 500,   \
     .fallback = "20", .doc = "Records per page"},                                                 \
    {.name = "sort", .type = FIELD_STR, .doc = "Field to sort by; a leading '-' reverses it"},     \
    {.name = "order", .type = FIELD_STR, .values = page_orders,                                    \
     .doc = "Direction for a single sort field"},                                                  \
    {.name = "count", .type = FIELD_BOOL, .fallback = "true",                                      \
     .doc = "false omits the count: total_items is then -1"}
/* clang-format on */
extern const char *const page_orders[]; /* asc, desc */
