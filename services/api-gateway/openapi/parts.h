#pragma once
/* Pieces that both documents are made of. All of them write to the request's JSON writer. */
#include "openapi/openapi.h"

#define OPENAPI_BEARER "bearerAuth"
#define OPENAPI_KEY    "apiKeyAuth"

/* Statuses that a document refers to: components.responses holds these and no others. */
struct openapi_statuses {
    bool used[600];
};

/* {"openapi", "info" and "servers"} */
void openapi_head(struct jw *w,
                  struct str base_url,
                  const char *version,
                  const char *title,
                  struct str revision,
                  const char *description);
/* co: between two pieces of a body. */
AWAITS static inline int openapi_slice(const struct openapi *about)
{
    return about->slice ? about->slice(about->arg) : 0;
}
/* One entry of root "tags". */
void openapi_tag(struct jw *w, struct str name, struct str description);
/* {"$ref":"#/components/<section>/<name>"} */
void openapi_ref(struct jw *w, const char *section, struct str name);
/* A number without exponent when it is whole, so that regenerated clients do not churn. */
void openapi_number(struct jw *w, const char *key, double value);
/* An integer id as a schema. */
void openapi_id(struct jw *w, const char *description);

/* Parameters: one object each. */
void openapi_query_param(struct jw *w, const struct query_param *param);
/* Those of a route's headers (bits of enum route_header), each whole or as a reference to its
 * component. */
void openapi_headers(struct jw *w, unsigned bits, bool by_name);
/* Members of components.parameters for these headers. */
void openapi_header_components(struct jw *w, unsigned bits);
/* The path parameter {name} of a route: ids and versions are integers, everything else is text. */
void openapi_path_param(struct jw *w, const struct route *route, struct str name);

/* "headers" of a success: what was made says where it is, what can change which version it is. */
void openapi_success_headers(struct jw *w, int status, bool etag);
/* The members of an operation's "responses" for everything that can fail, by status: what any route
 * of its kind is refused with (stages/refusals.h) and what the route adds. Marks them in *statuses.
 */
void openapi_failures(struct jw *w, const struct route *route, struct openapi_statuses *statuses);
/* "responses" of components: a problem body each, described by the schema `problem` (JSON text). */
void openapi_responses(struct jw *w, const struct openapi_statuses *statuses, struct str problem);
/* The problem body itself as a schema; `codes` adds the list of all error codes. Arena-owned. */
struct str openapi_problem(struct arena *arena, bool codes);

/* The list envelope, around the schema of one item: begin, item, end. */
void openapi_list_begin(struct jw *w);
void openapi_list_end(struct jw *w, bool has_cursor);
/* True when the route takes cursor= and so answers next_cursor. */
bool openapi_takes_cursor(const struct query_param *query);
