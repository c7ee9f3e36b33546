#pragma once
/*
 * Requests in flight, by project: however many one project has, the next of another finds room. A
 * request has its seat while something is done for it, and gives it up while its body is waited
 * for.
 */
#include "http/req.h"
#include "loop/shares.h"
#include "project/project.h"

enum admission {
    ADMIT_CALLER, /* who says who he is: a quarter of all for one project at most */
    ADMIT_PUBLIC, /* anybody: a sixteenth */
    ADMIT_UPLOAD, /* a body that the handler reads as it comes: few */
};

/* any: the bytes that bodies of requests in flight, and the values read from them, may take in a
 * process. */
uint64_t admission_bytes(size_t largest_body_bytes);

/* Given back with the request's arena at the latest. */
struct seat {
    struct shares *shares; /* NULL = given up */
    struct share *share;
    struct share *bytes_share;
    uint64_t bytes;
};

/* Once in each worker. `requests_max` as of the server's limits; `largest_body_bytes`: of all
 * bodies that routes read as a whole the largest. */
void admission_start(unsigned requests_max, size_t largest_body_bytes);

/* any: a seat in r's project (r->task.tenant), or the status of the refusal that was put. */
int admission_enter(struct req *r, enum admission kind, struct seat **ret_seat) MUSTCHECK;
/* co: the same for a body that the handler reads as it comes: waits for its turn, the body unread.
 * 0, a status, or a negative. */
AWAITS int admission_upload(struct req *r, struct seat **ret_seat) MUSTCHECK;
/* any: gives it up. */
void admission_leave(struct seat *seat);
/* co: adds bytes of a body to those that the seat holds, and waits until the project may hold them.
 * A kilobyte or less is not counted. 0, a status, or a negative. */
AWAITS int admission_bytes_hold(struct req *r, struct seat *seat, uint64_t bytes) MUSTCHECK;
/* co: counts what a whole body that is about to be read takes, its text and the tree that it may
 * become; waits for its turn. 0, a status, or a negative. */
AWAITS int admission_body(struct req *r, struct seat *seat, struct str body) MUSTCHECK;

/* co: project_find() for a request, whose result it gives, or a refusal's status. Projects that
 * this process does not know are looked up a few at a time by address: names of nothing keep nobody
 * waiting. */
AWAITS int admission_find_project(struct req *r,
                                  struct directory *directory,
                                  struct str slug,
                                  struct project **ret_project) MUSTCHECK;
/* any: what came of that for r->scope->project: found, it is the request's (its database, its log,
 * its tenant); a wrong or deleted one is 404, one that cannot be reached 503. */
int admission_take_project(struct req *r, int found) MUSTCHECK;
