/* Limits of requests in flight, of their bodies and of project look-ups. */
#include "app/admission.h"

#include <errno.h>

#include "app/reply.h"
#include "base/clock.h"
#include "http/resp.h"
#include "http/server.h"
#include "json/jr.h"

#define UPLOADS_MAX          64
#define UPLOADS_WAITING      256
#define UPLOAD_WAIT_MS       50000 /* proxies close a connection after a minute without traffic */
#define UPLOAD_RETRY_S       "15"
#define LOOKUPS_MAX          64
#define LOOKUPS_PER_ADDRESS  16
#define LOOKUPS_WAITING      32
#define LOOKUP_WAIT_MS       2000
#define BODIES_BYTES         (20UL << 20)
#define BODIES_WAITING       256
#define BODY_COPIES          3    /* of a body: its text, its parsed values, an SQL statement */
#define BODY_UNCOUNTED_BYTES 1024 /* smaller bodies are bounded by the number of permits */

static struct shares permits[ADMIT_UPLOAD + 1];
static struct shares bodies;
static struct shares lookups;

static unsigned one_or_more(unsigned number)
{
    return number > 0 ? number : 1;
}

static void
shares_init_slots(struct shares *shares, const char *name, uint64_t limit, uint64_t per_owner)
{
    shares_init(shares,
                &(struct shares_config){
                    .name = name, .limit = limit, .per_owner = per_owner, .leave_room = true});
}

/* One eighth of the requests is reserved for requests that belong to no project. */
void admission_start(unsigned requests_max, size_t largest_body_bytes)
{
    unsigned eighth = one_or_more(requests_max / 8);

    shares_init_slots(&permits[ADMIT_AUTHENTICATED], "requests", 6UL * eighth, 2UL * eighth);
    shares_init_slots(&permits[ADMIT_PUBLIC], "requests_public", eighth, one_or_more(eighth / 2));
    shares_init(&permits[ADMIT_UPLOAD],
                &(struct shares_config){.name = "uploads",
                                        .limit = UPLOADS_MAX,
                                        .per_owner = SHARES_ANY,
                                        .waiting = UPLOADS_WAITING,
                                        .leave_room = true});
    shares_init(&lookups,
                &(struct shares_config){.name = "project_lookups",
                                        .limit = LOOKUPS_MAX,
                                        .per_owner = LOOKUPS_PER_ADDRESS,
                                        .waiting = LOOKUPS_WAITING,
                                        .leave_room = true});
    /* Separate from the quota of rows and answers, so that a request that holds a body can still
     * get memory for its answer. */
    shares_init(&bodies,
                &(struct shares_config){.name = "request_body_bytes",
                                        .limit = admission_bytes(largest_body_bytes),
                                        .per_owner = SHARES_ANY,
                                        .waiting = BODIES_WAITING,
                                        .leave_room = true});
}

/* The largest body fits when no other body is in flight, unless it has very many values. */
uint64_t admission_bytes(size_t largest_body_bytes)
{
    uint64_t least = (BODY_COPIES + 1UL) * largest_body_bytes;

    return least > BODIES_BYTES ? least : BODIES_BYTES;
}

void admission_release(struct permit *permit)
{
    if (permit->shares != NULL)
        shares_release(permit->shares, permit->share, 1);
    if (permit->bytes > 0)
        shares_release(&bodies, permit->bytes_share, permit->bytes);
    *permit = (struct permit){0};
}

static void admission_on_end(void *permit)
{
    admission_release(permit);
}

static struct permit *permit_new(struct req *r)
{
    struct permit *permit = ARENA_NEW(r->task.arena, permit);

    arena_defer(r->task.arena, admission_on_end, permit);
    return permit;
}

int admission_enter(struct req *r, enum admission kind, struct permit **ret_permit)
{
    struct permit *permit = permit_new(r);

    if (shares_try(&permits[kind], share_owner_of(&r->task), 1, &permit->share) != 0)
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "This project has too many requests in flight; try again.");
    permit->shares = &permits[kind];
    *ret_permit = permit;
    return 0;
}

/* co: Waits for a permit. The wait does not count towards the request's deadline. */
AWAITS static int upload_permit_acquire(struct req *r, struct share **ret_share)
{
    struct shares *shares = &permits[ADMIT_UPLOAD];
    int64_t deadline_ms = r->task.deadline_ms;
    int64_t since_ms = clock_mono_ms();

    if (deadline_ms > 0)
        r->task.deadline_ms += UPLOAD_WAIT_MS;
    int rc =
        shares_acquire(&r->task, shares, share_owner_of(&r->task), 1, UPLOAD_WAIT_MS, ret_share);
    if (deadline_ms > 0)
        r->task.deadline_ms = deadline_ms + clock_mono_ms() - since_ms;
    return rc;
}

int admission_upload(struct req *r, struct permit **ret_permit)
{
    struct permit *permit = permit_new(r);
    int rc = upload_permit_acquire(r, &permit->share);

    if (rc == -EAGAIN || (rc == -ETIMEDOUT && !r->task.cancelled)) {
        resp_header(r, "Retry-After", STR(UPLOAD_RETRY_S));
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "This project has too many uploads in progress; try again.");
    }
    TRY(rc);
    permit->shares = &permits[ADMIT_UPLOAD];
    *ret_permit = permit;
    return 0;
}

int admission_bytes_hold(struct req *r, struct permit *permit, uint64_t bytes)
{
    uint64_t most = bodies.config.limit;

    if (bytes <= BODY_UNCOUNTED_BYTES)
        return 0;
    if (permit->bytes + bytes > most)
        return fail(r,
                    PROBLEM_PAYLOAD_TOO_LARGE,
                    "The body contains too many values: in memory it would take %llu MB, the limit "
                    "is %llu MB.",
                    (unsigned long long)((permit->bytes + bytes) >> 20),
                    (unsigned long long)(most >> 20));
    int rc = shares_acquire(&r->task,
                            &bodies,
                            share_owner_of(&r->task),
                            bytes,
                            http_body_wait_ms(r->server),
                            &permit->bytes_share);
    if (rc == -EAGAIN || (rc == -ETIMEDOUT && !r->task.cancelled))
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "This project has too many large requests in flight; try again.");
    TRY(rc);
    permit->bytes += bytes;
    return 0;
}

/* The text and the statement take the body's length; jr_tree_bytes() estimates the values. */
int admission_body(struct req *r, struct permit *permit, struct str body)
{
    if (body.len <= BODY_UNCOUNTED_BYTES)
        return 0;
    size_t tree_bytes = req_json_is_large(r, body) ? 0 : jr_tree_bytes(body);
    return admission_bytes_hold(r, permit, (BODY_COPIES - 1) * body.len + tree_bytes);
}

AWAITS static int lookup_permit_acquire(struct req *r, struct permit *permit)
{
    struct share_owner owner = http_address_owner(r->peer);
    int rc = shares_acquire(&r->task, &lookups, owner, 1, LOOKUP_WAIT_MS, &permit->share);

    if (rc == -EAGAIN || rc == -ETIMEDOUT)
        return fail(r,
                    PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT,
                    "Too many requests from your address wait for a project look-up; try again.");
    TRY(rc);
    permit->shares = &lookups;
    return 0;
}

int admission_find_project(struct req *r,
                           struct directory *directory,
                           struct str slug,
                           struct project **ret_project)
{
    struct permit *permit;

    /* Concurrent requests for one project share one look-up: while it runs, the project counts as
     * known. */
    TRY(project_epochs_wait(&r->task, directory));
    if (project_is_known(directory, slug))
        return project_find(&r->task, directory, slug, ret_project);
    permit = permit_new(r);
    TRY(lookup_permit_acquire(r, permit));
    int rc = project_find(&r->task, directory, slug, ret_project);
    admission_release(permit);
    return rc;
}

int admission_set_project(struct req *r, int found)
{
    if (found == PROJECT_NOT_FOUND)
        return fail(r, PROBLEM_NOT_FOUND, "There is no such project.");
    if (found == PROJECT_UNAVAILABLE)
        return fail(r,
                    PROBLEM_DEPENDENCY_UNAVAILABLE,
                    "The project's data cannot be reached right now; try again.");
    TRY(found);
    r->scope->db = &r->scope->project->db;
    r->task.log.project = r->scope->project->slug;
    r->task.project = r->scope->project->number;
    return 0;
}
