#pragma once
/*
 * The documents of GET /docs, written straight as JSON text: no tree, stable key order. The data model
 * document comes from the model snapshot of the request, the platform document from the route tables.
 * Neither reads a record; neither suspends. Subset and rules: OpenAPI 3.0.3 and 3.0.4.
 */
#include "app.h"

/* What both documents are about. */
struct openapi {
    struct arena *arena;         /* of the request */
    struct str base_url;         /* the project's address, the one server */
    const struct model *model;
    const struct caller *caller; /* documents name only fields that it may read or write */
};

/* any: writes one whole OpenAPI 3.0.3 document, "Data Model API". */
void openapi_model(struct jw *w, const struct openapi *about);
/* any: writes one whole OpenAPI 3.0.4 document of all documented platform routes. */
void openapi_platform(struct jw *w, const struct openapi *about);
