#pragma once
/* Bodies of the users area. */
#include "areas/access/access.h"
#include "stages/stages.h"

struct user_in {
    struct in_str email;
    struct in_str password;
    struct in_str status; /* update only */
    struct in_ids role_ids;
    struct in_json metadata;
};

/* What an owner may change. */
struct me_in {
    struct in_str password;
    struct in_str current_password;
    struct in_json metadata;
};

extern const char *const user_statuses[];
extern const struct schema user_create_schema;
extern const struct schema user_update_schema;
extern const struct schema me_schema;
extern const struct schema user_out_schema;
