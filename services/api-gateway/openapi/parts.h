#pragma once
/* Parts that both documents use. Functions with a parameter `w` write to this JSON writer. No
 * function but openapi_chunk_done() waits. */
#include "openapi/openapi.h"

#define OPENAPI_BEARER "bearerAuth"
#define OPENAPI_KEY    "apiKeyAuth"

/* The statuses that a document refers to: components.responses has exactly these. */
struct openapi_statuses {
    bool used[600];
};

/* Writes a head: an object with "openapi", "info" and "servers". `version` is the version of
 * OpenAPI, `revision` the version of the document. */
void openapi_head(struct jw *w,
                  struct str base_url,
                  const char *version,
                  const char *title,
                  struct str revision,
                  const char *description);
/* co: Calls about->chunk_done between two chunks of a body. Returns its result, or 0 when it is
 * NULL. */
AWAITS static inline int openapi_chunk_done(const struct openapi_request *about)
{
    return about->chunk_done ? about->chunk_done(about->chunk_done_arg) : 0;
}
/* Writes one entry of the document's "tags". */
void openapi_tag(struct jw *w, struct str name, struct str description);
/* Writes {"$ref":"#/components/<section>/<name>"}. */
void openapi_ref(struct jw *w, const char *section, struct str name);
/* Writes a member. A whole number has no exponent, so that regenerated clients do not change. */
void openapi_number(struct jw *w, const char *key, double value);
/* Writes the schema of an integer id. */
void openapi_id(struct jw *w, const char *description);

/* Writes the parameter object of a query parameter. */
void openapi_query_param(struct jw *w, const struct query_param *param);
/* Writes a parameter object for each header in `bits` (bits of enum route_header). With `by_name`
 * it writes a reference to the header's component instead. */
void openapi_headers(struct jw *w, unsigned bits, bool by_name);
/* Writes the members of components.parameters for the headers in `bits`. */
void openapi_header_components(struct jw *w, unsigned bits);
/* Writes the parameter object of the path parameter {name}. Ids and versions are integers, other
 * parameters are strings. An {id} of a route with an id_prefix may also be the processor's id. */
void openapi_path_param(struct jw *w, const struct route *route, struct str name);

/* Writes the "headers" of a success: Location for status 201, and ETag with `etag`. */
void openapi_success_headers(struct jw *w, int status, bool etag);
/* Writes the members of an operation's "responses" for all failures, by status: the failures of
 * every route of its kind (stages/refusals.h) and the failures that the route adds. Marks each
 * status in *statuses. */
void openapi_failures(struct jw *w, const struct route *route, struct openapi_statuses *statuses);
/* Writes the "responses" of components, one for each status in *statuses. From 400 on, the body is
 * a problem with the schema `problem` (JSON text). */
void openapi_responses(struct jw *w, const struct openapi_statuses *statuses, struct str problem);
/* Returns the schema of the problem body as JSON text, arena-owned. With `codes` the description
 * lists all error codes. */
struct str openapi_problem(struct arena *arena, bool codes);

/* Write the list envelope: openapi_list_begin(), then the caller writes the schema of one item,
 * then openapi_list_end(). `has_cursor` adds next_cursor. */
void openapi_list_begin(struct jw *w);
void openapi_list_end(struct jw *w, bool has_cursor);
/* Whether the query has the parameter `cursor`, so that answers have next_cursor. NULL: no
 * parameters. */
bool openapi_has_cursor(const struct query_param *query);
