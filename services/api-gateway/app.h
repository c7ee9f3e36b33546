#pragma once
/*
 * Declarations that the gateway's files share. A request passes the stages in order (stages/), then
 * reaches its route's handler (areas/). When the handler of a project route runs,
 * r->scope->project, r->scope->caller and r->scope->db are set.
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
    const char *tag; /* tag of these routes in the OpenAPI documents */
};
extern const struct route_table *const route_tables[];
extern const size_t route_table_count;
extern struct router *gateway_router; /* built at start, then never changed */

/* The life of a part of an area that keeps something between requests; listed in lives_all.c. A
 * function that is NULL is not called. */
struct area_life {
    void (*prepare)(void); /* before the fork: registers metrics */
    /* In each worker, before the port opens. */
    void (*start)(struct directory *directory, const struct app_conf *conf);
    void (*drain)(void);  /* after the last request: begins no more rounds */
    void (*settle)(void); /* after the background tasks were cancelled: writes what requests owe,
                             and refuses new work */
    void (*stop)(void);   /* when the process ends: frees memory */
};
/* any: Call a function of all lives, in the order of the list. */
void lives_prepare(void);
void lives_start(struct directory *directory, const struct app_conf *conf);
void lives_drain(void);
void lives_settle(void);
void lives_stop(void);

#define PROJECT_MOUNT "/org/{project_id}"
#define ROUTES(name, tag)                                                                          \
    const struct route_table name##_table = {                                                      \
        PROJECT_MOUNT, name##_routes, ARRAY_LEN(name##_routes), tag}

/* The first members of many bodies: a name, and a description that may be null. */
/* clang-format off */
#define NAMED_MEMBERS(body, is_required, name_example)                                             \
    {.name = "name", FIELD_AT(body, name), .type = FIELD_STR, .required = (is_required),           \
     .min = 1, .max = 100, .example = (name_example)},                                             \
    {.name = "description", FIELD_AT(body, description), .type = FIELD_STR, .nullable = true,      \
     .max = 1000}
/* clang-format on */

/* --- for administrative changes --- */

/* Returns a call for sql_batch() that writes the audit row of this request. `detail`: JSON text, or
 * STR_NONE. */
struct db_call gateway_audit(
    struct req *r, const char *action, const char *target, int64_t target_id, struct str detail);
/* co: Writes the audit row and commits the request's transaction. Returns 0, a negative, or the
 * status that was put. */
AWAITS int gateway_commit(struct req *r, struct db_call audit) MUSTCHECK;
/* co: Rolls back the request's transaction if one is open. The next sql_begin() opens a new
 * transaction. */
AWAITS void gateway_roll_back(struct req *r);
/* A member of a body, and whether the request set it. */
struct changed_member {
    const char *name;
    bool set;
};
/* Returns the detail of an audit row: {"changed": [...]} with the names of the members that are
 * set, never their values. JSON text, arena-owned. */
struct str
gateway_changed_detail(struct req *r, const struct changed_member *members, size_t count);
/* A change of a resource for the audit log, given by the resource's answers before and after. The
 * log has only the names of members that hold secrets, personal texts or values of records. */
struct audit_change {
    const struct rows *before; /* NULL = the change created the resource */
    const struct rows *after;
    const struct changed_member *unshown; /* changed members that no answer shows */
    size_t count;
};
/* gateway_audit_change() returns a call for sql_batch() that writes the audit row of a change.
 * gateway_change_detail() returns only the row's detail: JSON text, arena-owned, or STR_NONE when
 * nothing differs. */
struct db_call gateway_audit_change(struct req *r,
                                    const char *action,
                                    const char *target,
                                    int64_t target_id,
                                    const struct audit_change *change);
struct str gateway_change_detail(struct req *r, const struct audit_change *change);
/* Returns the detail of a change from the JSON object `before` to `after`, with the `count` members
 * of `more`. JSON text, arena-owned, or STR_NONE when nothing differs. */
struct str gateway_difference_detail(struct req *r,
                                     const json_t *before,
                                     const json_t *after,
                                     const struct changed_member *more,
                                     size_t count);
/* co: Raises the project's epoch, so that all processes drop what they have cached of it. Call it
 * after a committed change of users, roles, keys, groups, model or settings. */
AWAITS void gateway_raise_epoch(struct req *r);
/* any: Sets r->scope->model to the project's current model and holds the model until the request
 * ends. */
void gateway_hold_model(struct req *r);
/* co: Checks whether another process has changed the project, and if so updates r->scope->model and
 * the caller's rights. Call it after a refusal, or before work that needs the current state.
 * Returns false when nothing has changed, or when the current state cannot be read. */
AWAITS bool gateway_refresh_project(struct req *r);
/* co: Gives the caller its current rights, for requests that run for long. Results of
 * project_rights(). */
AWAITS int gateway_refresh_rights(struct req *r) MUSTCHECK;
/* any: Turns a result of project_rights() into an answer: 0 for 0 and RIGHTS_NOT_FOUND, a negative
 * as it is, otherwise the 503 that was put. */
int gateway_rights_check(struct req *r, int rc) MUSTCHECK;
/* any: Finds the entity of {entity} in the path. Puts 404 not_found when the model has no such
 * entity; the handler then runs again if the model may be outdated. On routes of records the entity
 * is already in r->scope->entity. */
int gateway_entity(struct req *r, const struct entity **ret_entity) MUSTCHECK;
/* any: Turns a result of reading an upload into an answer: 0, a negative, or the status that was
 * put. */
int gateway_upload_check(struct req *r, int rc) MUSTCHECK;
struct multipart;
/* any: The same as gateway_upload_check() for an upload that is read by parts
 * (http/multipart.h). */
int gateway_multipart_check(struct req *r, const struct multipart *multipart, int rc) MUSTCHECK;
/* any: Returns the caller's traceparent header as version 00, borrowed or arena-owned; STR_NONE
 * when there is no valid header. */
struct str gateway_traceparent(struct req *r);
/* The directory of this process. */
struct directory *gateway_directory(void);
/* The configured operator token; empty = no operator API. */
struct str gateway_operator_token(void);
/* Returns the address by which clients reach the gateway, without trailing slash: the configured
 * public URL, otherwise the request's Host. Arena-owned, or borrowed from the configuration. */
struct str gateway_url(struct req *r);
/* Returns the address by which the processor and the store reach the payments service, without
 * trailing slash: the configured address, otherwise the gateway's host and the service's port.
 * Arena-owned, or borrowed from the configuration. */
struct str gateway_payments_url(struct req *r);
/* Returns the address of r->scope->project below gateway_url(). Arena-owned. */
struct str gateway_base_url(struct req *r);
/* Returns the project's address below the configured public URL; STR_NONE when no public URL is
 * configured. Mails take their links from here, because a client chooses the Host of its request.
 */
struct str gateway_public_base_url(struct req *r);
