#pragma once
/*
 * The OpenAPI documents of GET /docs, written directly as JSON text: without a tree, and with a
 * stable order of keys. The data model document (OpenAPI 3.0.3) describes the entities in the model
 * snapshot of the request. The platform document (OpenAPI 3.0.4) describes the routes of the route
 * tables. Neither document reads a record.
 *
 * A document has a head, which contains the base URL of the request, and a body, which does not. So
 * bodies can be cached and shared between requests (areas/project/docs_cache.h).
 */
#include "app.h"

/* The inputs of a document. */
struct openapi_request {
    struct arena *arena; /* memory that is needed while the document is written */
    const struct model *model;
    const struct caller *caller; /* selects the fields of the data model document (spec_entity.c) */
    bool readable_only; /* leave out fields, and names of relations' targets, that the caller may
                        not read, even if the caller may write them */
    /* co: Called between two chunks of a body. The callback may take the text that was written so
     * far out of the writer's buffer, and lets other coroutines run. A result other than 0 stops
     * the document, and the function that writes the document returns this result. NULL: no
     * callback. */
    int (*chunk_done)(void *arg);
    void *chunk_done_arg;
};

/* any: Each function writes the head of one document: an object with "openapi", "info" and
 * "servers". */
void openapi_model_head(struct jw *w, const struct model *model, struct str base_url);
void openapi_platform_head(struct jw *w, struct str base_url);
/* co: Writes the body of the data model document: an object with all members that the head lacks.
 * Returns 0, or the result of about->chunk_done that stopped the document. */
AWAITS int openapi_model(struct jw *w, const struct openapi_request *about);
/* co: Writes the body of the platform document, with all documented routes. Ignores about->model
 * and about->caller. Returns as openapi_model() does. */
AWAITS int openapi_platform(struct jw *w, const struct openapi_request *about);
/* any: Whether the platform document describes the route. */
bool openapi_has_route(const struct route_table *table, const struct route *route);
/* co: Writes an object with the path of the route, its operation as in the platform document, and
 * the schemas that the operation refers to. `arena` is for working memory. Returns 0. */
AWAITS int
openapi_operation(struct jw *w, struct arena *arena, const struct route *route, const char *tag);

struct entity_doc;
/* any: Returns the operationId that the data model document has for this route and entity,
 * arena-owned. STR_NONE when the route is not an operation of the data model document. */
struct str openapi_model_operation_id(struct arena *arena,
                                      const struct route *route,
                                      const struct entity_doc *doc);
/* co: Writes an object with the path, the operation as in the data model document, and the schema
 * and parameters that the operation may refer to. The route must have a name by
 * openapi_model_operation_id(). Returns 0, or the result of doc->inputs->chunk_done that stopped
 * the document. */
AWAITS int
openapi_model_operation(struct jw *w, const struct route *route, const struct entity_doc *doc);
