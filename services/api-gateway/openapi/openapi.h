#pragma once
/*
 * The documents of GET /docs, written straight as JSON text: no tree, stable key order. The data
 * model document comes from the model snapshot of the request, the platform document from the route
 * tables. Neither reads a record. Subset and rules: OpenAPI 3.0.3 and 3.0.4.
 *
 * A document has a head, which names the address it was asked at, and a body, which does not:
 * bodies are kept and shared (areas/project/docs_cache.h).
 */
#include "app.h"

/* What a document is about. */
struct openapi {
    struct arena *arena; /* while it is written */
    const struct model *model;
    const struct caller *caller; /* documents name only fields that it may read or write */
    bool reads_only; /* nothing of entities and fields that it may not read, writable or not */
    /* co: called between the pieces of a body. It may take away what was written so far, lets
     * others run, and ends the writing with anything but 0. NULL = nobody looks. */
    int (*slice)(void *arg);
    void *arg;
};

/* any: "openapi", "info" and "servers" of a document, as an object of its own. */
void openapi_model_head(struct jw *w, const struct model *model, struct str base_url);
void openapi_platform_head(struct jw *w, struct str base_url);
/* co: everything else of the OpenAPI 3.0.3 document "Data Model API", as an object of its own. 0 or
 * what about->slice said. */
AWAITS int openapi_model(struct jw *w, const struct openapi *about);
/* co: the same of the OpenAPI 3.0.4 document of all documented platform routes; model and caller
 * are not looked at. */
AWAITS int openapi_platform(struct jw *w, const struct openapi *about);
/* any: does the platform document describe it? */
bool openapi_has(const struct route_table *table, const struct route *route);
/* co: one operation as it stands there, with the schemas that it names, as an object of its own. 0.
 */
AWAITS int
openapi_operation(struct jw *w, struct arena *arena, const struct route *route, const char *tag);

struct entity_doc;
/* any: the operation that the data model document has for this route and entity, arena-owned;
 * STR_NONE when the route is described once for all entities, by the platform document. */
struct str
openapi_model_name(struct arena *arena, const struct route *route, const struct entity_doc *doc);
/* co: that operation as it stands there, with the schema and the parameters that it names, as an
 * object of its own. 0. */
AWAITS int
openapi_model_operation(struct jw *w, const struct route *route, const struct entity_doc *doc);
