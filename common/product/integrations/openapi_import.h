#pragma once
/*
 * An integration out of an OpenAPI 3 document (3.0, 3.1). $ref within the document is followed,
 * circles and what leads out of it are findings; what an integration cannot say (cookies, uploads,
 * servers of single operations) is left out and listed. Whatever comes out passes
 * integration_check().
 */
#include "integrations/integration.h"

/* What its caller says of it; empty = as the document has it. */
struct openapi_wish {
    const json_t *document;
    struct str name, base_url;
    const json_t *auth;         /* an object, NULL = from its securitySchemes */
    const struct in_strs *only; /* names of operations; NULL = all of them */
};

/* any: *ret_body is what POST /integrations takes, *ret_skipped an array of {"operation",
 * "reason"}. False when it added findings: "document.paths./users.get". Arena-owned. */
bool openapi_import(struct arena *arena,
                    const struct openapi_wish *wish,
                    json_t **ret_body,
                    json_t **ret_skipped,
                    struct schema_errors *errors);
