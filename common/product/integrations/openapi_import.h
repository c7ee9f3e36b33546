#pragma once
/*
 * An integration out of an OpenAPI 3 document (3.0, 3.1). $ref within the document is followed,
 * circles and what leads out of it are findings; what an integration cannot say (cookies, uploads,
 * servers of single operations) is left out and listed, also where the operation does without it.
 * Whatever comes out passes integration_check().
 */
#include "integrations/integration.h"

/* What one import may cost. Each operation, parameter, reference, name and value that is tried,
 * compared or copied is a step, and 64 bytes of a text are one. Both are checked before the work.
 * As many steps take a thread less than 0.2 s. A document that is a text is scanned eight times
 * besides, and what is read of it counts as if it were made. */
#define OPENAPI_STEPS_MAX 500000
#define OPENAPI_BYTES_MAX 16777216 /* made by one import, without the document itself */

/* What its caller says of it; empty = as the document has it. */
struct openapi_wish {
    const json_t *document; /* NULL = it is a text */
    struct str text;        /* of a large document, valid JSON; with it `only` says something */
    struct str name, base_url;
    const json_t *auth;         /* an object, NULL = from its securitySchemes */
    const struct in_strs *only; /* names of operations; NULL = all of them */
};

/* any: *ret_body is what POST /integrations takes, *ret_skipped an array of {"operation",
 * "reason"}. False when it added findings: "document.paths./users.get", or "document" where it
 * takes more than the limits. Arena-owned. For a thread: it may take 0.2 s. */
bool openapi_import(struct arena *arena,
                    const struct openapi_wish *wish,
                    json_t **ret_body,
                    json_t **ret_skipped,
                    struct schema_errors *errors);
