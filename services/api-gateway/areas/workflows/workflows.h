#pragma once
/*
 * What the workflow areas share: schemas and saving. Workflows are
 * rows of the project; every save keeps the version before it, because jobs run the version that
 * they were queued with.
 */
#include "app.h"
#include "walk.h"

/* Body of create and update. */
struct workflow_in {
    struct in_str name;
    struct in_bool enabled;
    struct in_obj trigger; /* json_t */
    struct in_str start_step;
    struct in_list steps; /* json_t * each */
};
#define WORKFLOW_BYTES_MAX 262144 /* of the document that is kept */

extern const struct schema workflow_create_schema;
extern const struct schema workflow_update_schema;
extern const struct schema workflow_schema;
extern const struct schema workflow_version_schema;
extern const struct schema workflow_version_listed_schema;
extern const struct schema job_schema;
extern const struct schema job_listed_schema;
extern const char *const job_statuses[];
extern const char *const workflow_trigger_kinds[];

/* co: saves a new workflow (id 0) or changes one, checked whole, and makes the caller its editor.
 * An id that is not there, a stale If-Match, and everything that is wrong with the workflow are
 * answered. */
AWAITS int workflow_save(struct req *r, const struct workflow_in *in, int64_t id, int64_t *ret_id)
    MUSTCHECK;

/* 429: as many jobs of the project wait as may. */
int fail_queue_full(struct req *r, int64_t most);

/* 412 unless If-Match allowed this version. */
struct items_match;
int workflow_check_version(struct req *r, const struct items_match *match, int64_t version)
    MUSTCHECK;

struct definition;
/* co: findings for steps that run integrations, or operations of them, that there are not. */
AWAITS int workflow_check_integrations(struct req *r,
                                       const struct definition *definition,
                                       struct schema_errors *errors) MUSTCHECK;
