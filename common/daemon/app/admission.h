#pragma once
/*
 * Limits requests in flight, by project: however many requests one project has, the next request of
 * another project finds a permit. A request holds its permit while it is processed, and releases it
 * while it waits for its body.
 */
#include "http/req.h"
#include "loop/shares.h"
#include "project/project.h"

enum admission {
    ADMIT_AUTHENTICATED, /* with credentials: at most a quarter of all requests for one project */
    ADMIT_PUBLIC,        /* without credentials: at most a sixteenth for one project */
    ADMIT_UPLOAD,        /* the handler streams the body: at most UPLOADS_MAX of all projects */
};

/* any: Limit of a process in bytes for bodies of requests in flight and the values read from
 * them. */
uint64_t admission_bytes(size_t largest_body_bytes);

/* Released with the request's arena at the latest. */
struct permit {
    struct shares *shares; /* NULL = released */
    struct share *share;
    struct share *bytes_share;
    uint64_t bytes;
};

/* Call once in each worker. `requests_max`: limits.requests_max of the server.
 * `largest_body_bytes`: limit of the largest body that a route reads as a whole. */
void admission_start(unsigned requests_max, size_t largest_body_bytes);

/* any: Takes a permit of r's project (r->task.project). Returns 0 or the status of the refusal. */
int admission_enter(struct req *r, enum admission kind, struct permit **ret_permit) MUSTCHECK;
/* co: Like admission_enter(), for a body that the handler streams. Waits for a permit before the
 * body is read. Returns 0, a status or a negative. */
AWAITS int admission_upload(struct req *r, struct permit **ret_permit) MUSTCHECK;
/* any: Releases the permit. */
void admission_release(struct permit *permit);
/* co: Adds `bytes` to the bytes of bodies that the permit holds. Waits until the project's share
 * has room for `bytes`. A call with at most 1,024 bytes counts nothing. Returns 0, a status or a
 * negative. */
AWAITS int admission_bytes_hold(struct req *r, struct permit *permit, uint64_t bytes) MUSTCHECK;
/* co: Counts the memory of a whole body that is about to be parsed: its text and the tree that it
 * may become. Waits like admission_bytes_hold(). Returns 0, a status or a negative. */
AWAITS int admission_body(struct req *r, struct permit *permit, struct str body) MUSTCHECK;

/* co: Runs project_find() for a request. Returns its result, or the status of a refusal. Look-ups
 * of projects that this process does not know are limited by client address, so that requests for
 * unknown names do not delay other clients. */
AWAITS int admission_find_project(struct req *r,
                                  struct directory *directory,
                                  struct str slug,
                                  struct project **ret_project) MUSTCHECK;
/* any: Handles the result of admission_find_project() for r->scope->project. A project that was
 * found is set as the request's (database, log, tenant). A wrong or deleted project is 404, an
 * unreachable one 503. */
int admission_set_project(struct req *r, int found) MUSTCHECK;
