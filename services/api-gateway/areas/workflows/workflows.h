#pragma once
/*
 * Declarations that the endpoints of workflows and jobs share. Workflows are rows of the project.
 * Every save keeps the previous version, because a job runs the version that it was queued with.
 */
#include "app.h"
#include "keyset.h"

/* Body of create and update. */
struct workflow_in {
    struct in_str name;
    struct in_bool enabled;
    struct in_obj trigger; /* json_t */
    struct in_str start_step;
    struct in_list steps; /* each a json_t * */
};
#define WORKFLOW_BYTES_MAX 262144 /* of the stored document */

extern const struct schema workflow_create_schema;
extern const struct schema workflow_update_schema;
extern const struct schema workflow_schema;
extern const struct schema workflow_version_schema;
extern const struct schema workflow_version_listed_schema;
extern const struct schema job_schema;
extern const struct schema job_listed_schema;
extern const char *const job_statuses[];
extern const char *const workflow_trigger_kinds[];

/* co: Creates a workflow (`id` 0) or changes an existing one, after checking the workflow as a
 * whole. When the save changes what the workflow does, the caller becomes its editor. Returns 0 and
 * the workflow's id, or the status of an answer that was put: 404 for an unknown id, 412 for a
 * stale If-Match, 4xx for an invalid workflow. */
AWAITS int workflow_save(struct req *r, const struct workflow_in *in, int64_t id, int64_t *ret_id)
    MUSTCHECK;

/* any: Puts a 429: the project has `most` queued jobs, its limit. Returns the status. */
int fail_queue_full(struct req *r, int64_t most);

struct items_match;
/* any: Returns 0 when the request has no If-Match or its If-Match allows this version; else puts a
 * 412. */
int workflow_check_version(struct req *r, const struct items_match *match, int64_t version)
    MUSTCHECK;

struct definition;
/* co: Adds a finding to `errors` for each step that names an integration, or an operation of an
 * integration, that does not exist. Returns 0, or the status of an answer that was put. */
AWAITS int workflow_check_integrations(struct req *r,
                                       const struct definition *definition,
                                       struct schema_errors *errors) MUSTCHECK;
