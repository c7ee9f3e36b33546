#pragma once
/* The typed client of a project, as GET /docs/client.ts answers it: a TypeScript module. The module
 * begins with the types of the data model. The constant part of the client (client/client.ts)
 * follows. */
#include "openapi/openapi.h"

/* co: Writes the module for the entities of the model and the fields that the caller may see, as
 * the data model document names them. Uses w->out directly, because the text is not JSON. Returns
 * as openapi_model() does. */
AWAITS int client_module(struct jw *w, const struct openapi_request *about);
