#pragma once
/*
 * What the gateway's files share. A request passes the stages in order (stages/), then its route's
 * handler (areas/). r->scope->project, r->scope->caller and r->scope->db are set when a handler of
 * a project route runs.
 */
#include "app/daemon.h"
#include "app/reply.h"
#include "http/route.h"
#include "project/events.h"
#include "project/project.h"
#include "rights/audit.h"
#include "rights/rights.h"

/* clang-format off: declares struct app_conf from config.def */
#include "conf/conf_struct.h"
/* clang-format on */

/* One table per area, listed in routes_all.c. */
struct route_table {
    const char *mount; /* "/org/{project_id}" or "" */
    const struct route *routes;
    size_t count;
    const char *tag; /* of its routes in the documents */
};
extern const struct route_table *const route_tables[];
extern const size_t route_table_count;
extern struct router *gateway_router; /* built at start, read only afterwards */

#define PROJECT_MOUNT "/org/{project_id}"
#define ROUTES(name, tag)                                                                          \
    const struct route_table name##_table = {                                                      \
        PROJECT_MOUNT, name##_routes, ARRAY_LEN(name##_routes), tag}

/* A name, and a description that may be null: what many bodies begin with. */
/* clang-format off */
#define NAMED_MEMBERS(body, is_required, name_example)                                             \
    {.name = "name", FIELD_AT(body, name), .type = FIELD_STR, .required = (is_required),           \
     .min = 1, .max = 100, .example = (name_example)},                                             \
    {.name = "description", FIELD_AT(body, description), .type = FIELD_STR, .nullable = true,      \
     .max = 1000}
/* clang-format on */

/* --- for administrative changes --- */

/* A call that writes the audit row of this request, for sql_batch. `detail` JSON text or STR_NONE.
 */
struct db_call gateway_audit(
    struct req *r, const char *action, const char *target, int64_t target_id, struct str detail);
/* co: writes that row and commits the transaction. */
AWAITS int gateway_commit(struct req *r, struct db_call audit) MUSTCHECK;
/* co: ends the request's transaction without its changes, if one is open; the next begins anew. */
AWAITS void gateway_roll_back(struct req *r);
/* Detail for it: which members of a body were set; never their values. */
struct changed_member {
    const char *name;
    bool set;
};
struct str gateway_changed(struct req *r, const struct changed_member *members, size_t count);
/* The audit row of a change with what it made of a resource, from its answers before and after;
 * members of the answers that hold secrets, personal texts or values of records are named alone. */
struct audit_change {
    const struct rows *before; /* NULL = the resource was made */
    const struct rows *after;
    const struct changed_member *more; /* what no answer shows, by name */
    size_t count;
};
struct db_call gateway_audit_change(struct req *r,
                                    const char *action,
                                    const char *target,
                                    int64_t target_id,
                                    const struct audit_change *change);
struct str gateway_change_detail(struct req *r, const struct audit_change *change);
/* The detail alone, of two objects. STR_NONE when nothing differs. */
struct str gateway_difference(struct req *r,
                              const json_t *before,
                              const json_t *after,
                              const struct changed_member *more,
                              size_t count);
/* co: after a committed change of users, roles, keys, groups, model or settings: raises the epoch.
 */
AWAITS void gateway_touch(struct req *r);
/* any: r->scope->model is the project's model as of now, held until the request ends. */
void gateway_hold_model(struct req *r);
/* co: after a refusal, or before what has to be as of now: whether another process has changed the
 * project since; then r->scope->model and the caller's rights are as they are now. False when that
 * is not known. */
AWAITS bool gateway_recheck(struct req *r);
/* co: for requests that take their time: from now on the caller has the rights of now.
 * Results of project_rights(). */
AWAITS int gateway_rights_now(struct req *r) MUSTCHECK;
/* any: a result of project_rights(): 0 of none of them, nor of RIGHTS_GONE; else what is answered
 * when rights cannot be read. */
int gateway_rights_check(struct req *r, int rc) MUSTCHECK;
/* any: the entity of {entity} in the path: 404 not_found when there is none, for which everything
 * begins again if the model is old. On routes of records it is r->scope->entity already. */
int gateway_entity(struct req *r, const struct entity **ret_entity) MUSTCHECK;
/* any: a result of reading an upload as an answer: 0, a negative, or the status that was put. */
int gateway_upload_check(struct req *r, int rc) MUSTCHECK;
struct multipart;
/* any: the same of reading it by parts (http/multipart.h). */
int gateway_multipart_check(struct req *r, const struct multipart *multipart, int rc) MUSTCHECK;
/* any: the caller's traceparent header as version 00, borrowed or arena-owned; STR_NONE when there
 * is no valid one. */
struct str gateway_traceparent(struct req *r);
/* The directory of this process. */
struct directory *gateway_directory(void);
/* The configured operator token; empty = no operator API. */
struct str gateway_operator_token(void);
/* Address of the gateway as clients reach it, without trailing slash: the configured public URL,
 * else the request's Host. Arena-owned. */
struct str gateway_url(struct req *r);
/* Address of the payments service as the processor and the store reach it, without trailing slash:
 * the configured one, else the gateway's host and the service's port. Arena-owned. */
struct str gateway_payments_url(struct req *r);
/* Address of r->scope->project below it. Arena-owned. */
struct str gateway_base_url(struct req *r);
