#pragma once
/* Input of the sign-in routes: JSON or a form, as OAuth clients send it. */
#include "app.h"

/* co: like req_json(), and application/x-www-form-urlencoded for schemas of texts. */
AWAITS int auth_read_body(struct req *r, const struct schema *schema, void *ret_struct) MUSTCHECK;
