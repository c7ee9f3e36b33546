#pragma once
/*
 * Converts an OpenAPI document (3.0, 3.1) to an integration. $ref within the document is followed;
 * a circular or external $ref is a finding. Operations that an integration cannot describe (because
 * of cookies, uploads or their own servers) are skipped and listed. Optional parts that are left
 * out of an operation are listed, too. All operations of the result pass integration_check().
 */
#include "integrations/integration.h"

/* Limits of one import. Each operation, parameter, reference, name and value that is tried,
 * compared or copied counts as a step, and so do each 64 bytes of text. Both limits are checked
 * before the work is done. OPENAPI_STEPS_MAX steps take a thread less than 0.2 s. A document given
 * as JSON text is scanned eight times in addition, and values that are parsed from it count as
 * allocated. */
#define OPENAPI_STEPS_MAX 500000
#define OPENAPI_BYTES_MAX 16777216 /* allocated by one import, without the document itself */

/* Options of an import. An empty `name` or `base_url` is taken from the document: its title, or the
 * URL of its first server. */
struct openapi_options {
    const json_t *document; /* NULL = `text` is the document */
    struct str text;        /* a large document, valid JSON; requires `chosen_names` */
    struct str name, base_url;
    const json_t *auth;                 /* an object; NULL = from the document's securitySchemes */
    const struct in_strs *chosen_names; /* names of the operations to import; NULL = all */
};

/* any, blocks: Imports a document; takes up to 0.2 s, so call it on a thread. *ret_body is a body
 * for POST /integrations, *ret_skipped an array of {"operation", "reason"}. Both are arena-owned.
 * Returns false when it added findings. A finding is for a place such as
 * "document.paths./users.get", or for "document" when the import exceeds a limit. */
bool openapi_import(struct arena *arena,
                    const struct openapi_options *options,
                    json_t **ret_body,
                    json_t **ret_skipped,
                    struct schema_errors *errors);
