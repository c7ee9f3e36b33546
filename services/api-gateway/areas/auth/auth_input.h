#pragma once
/* Input of the sign-in routes: JSON, or a form as OAuth clients send it. */
#include "app.h"

/* co: Does the same as req_json(), and also reads application/x-www-form-urlencoded for schemas
 * whose members are texts. */
AWAITS int auth_read_body(struct req *r, const struct schema *schema, void *ret_struct) MUSTCHECK;
