/* Computes password hashes on worker threads. */
#include "auth_password.h"

#include <errno.h>

#include "crypto/digest.h"
#include "crypto/password.h"
#include "loop/work.h"
#include "metrics/metrics.h"

static struct metric *stored_hashes;
static struct metric *checked_hashes;

static void auth_password_prepare(void)
{
    const char *name = "groundwork_password_hashes_total";
    const char *help = "Argon2id computations, by purpose";

    stored_hashes = metric_counter(name, "purpose=\"store\"", help);
    checked_hashes = metric_counter(name, "purpose=\"check\"", help);
}

const struct area_life auth_password_life = {.prepare = auth_password_prepare};

int auth_password_policy(struct req *r, const char *field, struct str password)
{
    int64_t min = r->scope->project ? r->scope->project->settings.password_min_length : 8;

    if ((int64_t)password_length(password) < min)
        return fail_field(
            r, field, PROBLEM_OUT_OF_RANGE, "must have at least %lld characters", (long long)min);
    if (password.len > PASSWORD_MAX_BYTES)
        return fail_field(
            r, field, PROBLEM_TOO_LONG, "must have at most %d bytes in UTF-8", PASSWORD_MAX_BYTES);
    return 0;
}

/* Input and result of a worker thread, which alone uses the arena until the task is resumed. */
struct hash_job {
    struct arena *arena;
    struct str password;
    struct str hash;
    int result; /* PASSWORD_* */
};

static void run_hash(void *arg)
{
    struct hash_job *job = arg;

    job->hash = password_hash(job->arena, job->password);
}

static void password_run_check(void *arg)
{
    struct hash_job *job = arg;

    job->result = password_verify(job->hash, job->password);
    if (job->result == PASSWORD_OK_REHASH)
        job->hash = password_hash(job->arena, job->password);
}

AWAITS static int run_hashing(struct req *r, work_fn fn, struct hash_job *job)
{
    int rc = work_run(&r->task, WORK_HASH, fn, job);

    if (rc == -EAGAIN)
        return fail(
            r, PROBLEM_TOO_MANY_REQUESTS_IN_FLIGHT, "Too many sign-ins at once; try again.");
    return rc;
}

int auth_password_hash(struct req *r, struct str password, struct str *ret_hash)
{
    struct hash_job *job = ARENA_NEW(r->task.arena, job);

    *job = (struct hash_job){.arena = r->task.arena, .password = password};
    TRY(run_hashing(r, run_hash, job));
    metric_add(stored_hashes, 1);
    *ret_hash = job->hash;
    return 0;
}

struct str auth_password_decoy_hash(struct req *r, struct str email)
{
    struct str key = {(const char *)r->scope->project->data_key.bytes,
                      sizeof(r->scope->project->data_key.bytes)};
    uint8_t seed[2 * DIGEST_SHA256_BYTES];

    digest_hmac_sha256(
        key, arena_printf(r->task.arena, "salt of nobody:%.*s", STR_ARG(email)), seed);
    digest_hmac_sha256(key,
                       arena_printf(r->task.arena, "tag of nobody:%.*s", STR_ARG(email)),
                       seed + DIGEST_SHA256_BYTES);
    return password_dummy_hash(r->task.arena, seed);
}

int auth_password_check(
    struct req *r, struct str hash, struct str password, bool *ret_right, struct str *ret_rehash)
{
    struct hash_job *job = ARENA_NEW(r->task.arena, job);

    *job = (struct hash_job){.arena = r->task.arena, .password = password, .hash = hash};
    TRY(run_hashing(r, password_run_check, job));
    metric_add(checked_hashes, 1);
    *ret_right = job->result != PASSWORD_WRONG;
    *ret_rehash = job->result == PASSWORD_OK_REHASH ? job->hash : STR_NONE;
    return 0;
}
