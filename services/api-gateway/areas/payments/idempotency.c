/* Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a request that moves money is
 * carried out once, however often it is sent within 24 hours. */
#include "areas/payments/idempotency.h"

#include <errno.h>
#include <string.h>

#include "areas/payments/pay_common.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/rand.h"
#include "catalog/problem.h"
#include "crypto/digest.h"
#include "http/server.h"
#include "idempotency_sql.h"
#include "json/jr_off_thread.h"
#include "loop/work.h"
#include "project/unseal.h"

#define KEY_CHARS_MAX  255
#define LEASE_LEAST_MS 60000
#define LEASE_EXTRA_MS 30000 /* after the request's deadline: its handler has ended by then */
#define BODY_MEMBER    "idempotency_key"
#define SALT_CHARS     32

/* --- the request --- */

static bool idempotency_key_ok(struct str key)
{
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] < ' ' || key.ptr[i] > '~')
            return false;
    }
    return key.len > 0 && key.len <= KEY_CHARS_MAX;
}

/* Returns the header's value, STR_NONE without one. *ret_several: there are different values. */
static struct str header_key(const struct req *r, bool *ret_several)
{
    struct str found = STR_NONE;

    *ret_several = false;
    for (size_t i = 0; i < r->header_count; i++) {
        if (!str_ieq(r->headers[i].name, STR("idempotency-key")))
            continue;
        if (found.ptr && !str_eq(found, r->headers[i].value))
            *ret_several = true;
        found = r->headers[i].value.ptr ? r->headers[i].value : STR("");
    }
    return found;
}

/* *ret_key is STR_NONE when the request has no key. */
static int idempotency_read_key(struct req *r, const struct in_str *body_key, struct str *ret_key)
{
    bool several;
    struct str header = header_key(r, &several);
    struct str member = body_key && body_key->set && !body_key->null ? body_key->value : STR_NONE;

    if (several || (header.ptr && member.ptr && !str_eq(header, member)))
        return fail_field(r,
                          BODY_MEMBER,
                          PROBLEM_VALIDATION_FAILED,
                          "the request has two different idempotency keys");
    *ret_key = header.ptr ? header : member;
    if (ret_key->ptr && !idempotency_key_ok(*ret_key))
        return fail_field(r,
                          header.ptr ? "Idempotency-Key" : BODY_MEMBER,
                          PROBLEM_PATTERN,
                          "must be 1 to %d printable ASCII characters",
                          KEY_CHARS_MAX);
    return 0;
}

/* Returns the body in a canonical form: without spaces, members sorted, without the key, which may
 * be in the header or in the body. */
static struct str body_canonical(struct arena *arena, struct str body)
{
    struct arena *scratch = arena_new(0);
    struct str text = body;
    struct jr_error error;
    json_t *root;

    if (body.len && jr_parse(scratch, body, &root, &error) == 0) {
        (void)json_object_del(root, BODY_MEMBER);
        size_t flags = JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY;
        size_t bytes = json_dumpb(root, NULL, 0, flags);
        char *sorted = arena_alloc(arena, bytes + 1);
        text = (struct str){sorted, json_dumpb(root, sorted, bytes, flags)};
    }
    arena_free(scratch);
    return text;
}

struct hashing {
    struct req *r;
    struct str body;
    uint8_t hash[DIGEST_SHA256_BYTES];
};

/* Runs on the loop or on a thread, while the request waits. */
static void hash_request(void *arg)
{
    struct hashing *hashing = arg;
    struct req *r = hashing->r;
    struct digest digest;

    digest_init(&digest);
    digest_update(&digest, str_from(r->route->id));
    digest_update(&digest, STR("\n"));
    digest_update(&digest, r->path);
    digest_update(&digest, STR("\n"));
    digest_update(&digest, body_canonical(r->task.arena, hashing->body));
    digest_final(&digest, hashing->hash);
}

AWAITS static int request_hash(struct req *r, uint8_t ret_hash[DIGEST_SHA256_BYTES])
{
    struct hashing hashing = {.r = r};

    /* The body was read before: this returns the same text. */
    if (req_body_read_all(r, req_json_max(r), &hashing.body) != 0)
        hashing.body = STR_NONE;
    if (hashing.body.len > JR_INLINE_BYTES)
        work_off_thread(&r->task, hash_request, &hashing);
    else
        hash_request(&hashing);
    memcpy(ret_hash, hashing.hash, sizeof(hashing.hash));
    return r->task.cancelled ? -ECANCELED : 0;
}

static int64_t lease_ms(const struct req *r)
{
    int64_t lease = LEASE_LEAST_MS;

    if (r->task.deadline_ms) {
        int64_t needed = r->task.deadline_ms - clock_mono_ms() + LEASE_EXTRA_MS;
        lease = needed > lease ? needed : lease;
    }
    return lease;
}

/* --- stored answers --- */

/* Sets Location to the row that `target` names ("payment:12"). */
static void put_location(struct req *r, struct str target)
{
    struct str text = target;
    struct str what = str_split(&text, ':');
    int64_t id;

    if (num_parse_i64(text, &id))
        pay_location(r, what, id);
}

static struct str idempotency_aad(struct req *r, const struct idem *idem)
{
    struct arena *arena = r->task.arena;
    struct str request =
        arena_printf(arena, "%.*s:%.*s", STR_ARG(idem->principal), STR_ARG(idem->key));

    return aad_answer(arena, r->scope->project->number, request);
}

/* co: Opens the stored answer. *ret_body is STR_NONE when the answer had no body. */
AWAITS static int
open_answer(struct req *r, const struct idem *idem, struct str sealed, struct str *ret_body)
{
    *ret_body = STR_NONE;
    if (!sealed.ptr)
        return 0;
    int rc = data_key_open(&r->task, r->scope->project, sealed, idempotency_aad(r, idem), ret_body);
    if (rc <= 0)
        return rc;
    log_error("idempotency.answer_unreadable", L_STR("project", r->scope->project->slug));
    return fail_internal(r, rc);
}

AWAITS static int
idempotency_replay(struct req *r, const struct idem *idem, const struct sql_idem_look_row *found)
{
    int status = (int)found->status.value;
    struct str body;
    struct jw w;

    TRY(open_answer(r, idem, found->response, &body));
    w = resp_json(r);
    resp_header(r, "Idempotent-Replayed", STR("true"));
    if (status == 201)
        put_location(r, found->target);
    if (!body.len)
        return reply_empty(r, status);
    jw_raw(&w, body);
    (void)reply_json(r, status);
    if (status >= 400) {
        r->content_type = STR("application/problem+json");
        r->error_code = "replayed";
    }
    return status;
}

/* Answers a request whose key belongs to another request. */
AWAITS static int
answer_claimed_key(struct req *r, const struct idem *idem, const struct rows *rows)
{
    if (!rows->count) /* deleted between the statements: the caller must repeat the request */
        return fail(r, PROBLEM_IDEMPOTENCY_IN_PROGRESS, NULL);
    const struct sql_idem_look_row found = sql_idem_look_row(r->task.arena, rows, 0);
    if (!found.same)
        return fail(r,
                    PROBLEM_IDEMPOTENCY_MISMATCH,
                    "This idempotency key was used for a different request: use a new key.");
    if (str_is(found.state, "done"))
        return idempotency_replay(r, idem, &found);
    resp_header_printf(r, "Retry-After", "%lld", (long long)found.left_seconds);
    return fail(r,
                PROBLEM_IDEMPOTENCY_IN_PROGRESS,
                "The first request with this idempotency key is still running: try again after the "
                "seconds in Retry-After.");
}

/* Returns the salt. All requests that take the key over have the same salt. A request that uses the
 * key again after the key has expired has a different salt. */
static struct str key_salt(struct req *r, const struct idem *idem, int64_t since_ms)
{
    struct arena *arena = r->task.arena;
    struct str whole = arena_printf(arena,
                                    "%.*s\n%lld\n%.*s",
                                    STR_ARG(idem->principal),
                                    (long long)since_ms,
                                    STR_ARG(idem->key));
    struct str hex = digest_sha256_hex(arena, whole);

    return (struct str){hex.ptr, SALT_CHARS};
}

int idem_begin(struct req *r, const struct in_str *body_key, struct idem *ret_idem)
{
    struct arena *arena = r->task.arena;
    const struct caller *caller = r->scope->caller;
    uint8_t *hash = arena_alloc(arena, DIGEST_SHA256_BYTES);
    struct idem idem = {.closed = true};
    uint64_t chance = rand_u64();

    idem.salt = arena_printf(arena, PROCESSOR_ONCE "%016llx", (unsigned long long)chance);
    *ret_idem = idem;
    TRY(idempotency_read_key(r, body_key, &idem.key));
    if (!idem.key.ptr)
        return 0;
    bool by_key = caller->kind == CALLER_KEY;
    idem.principal = arena_printf(arena,
                                  by_key ? "key:%lld" : "user:%lld",
                                  (long long)(by_key ? caller->key_id : caller->user_id));
    TRY(request_hash(r, hash));

    const struct str request = {(char *)hash, DIGEST_SHA256_BYTES};
    struct db_call calls[] = {
        db_call(SQL_IDEM_TAKE(.principal = idem.principal,
                              .key = idem.key,
                              .request_hash = request,
                              .lease_ms = lease_ms(r))),
        db_call(SQL_IDEM_TAKE_OVER(.principal = idem.principal,
                                   .key = idem.key,
                                   .request_hash = request,
                                   .lease_ms = lease_ms(r))),
        db_call(
            SQL_IDEM_LOOK(.principal = idem.principal, .key = idem.key, .request_hash = request)),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    const struct rows *taken = calls[0].rows.count ? &calls[0].rows : &calls[1].rows;
    if (!taken->count)
        return answer_claimed_key(r, &idem, &calls[2].rows);
    const struct sql_idem_ours_row ours = sql_idem_ours_row(taken, 0);
    idem.token = ours.token;
    idem.target = ours.target;
    idem.salt = key_salt(r, &idem, ours.since_ms);
    idem.closed = false;
    *ret_idem = idem;
    return 0;
}

/* --- holding the key --- */

static int idempotency_fail_taken_over(struct req *r)
{
    return fail(
        r,
        PROBLEM_IDEMPOTENCY_IN_PROGRESS,
        "Another request with this idempotency key has taken over: try again for its answer.");
}

int idem_set_target(struct req *r, const struct idem *idem, const char *kind, int64_t id)
{
    struct str target = arena_printf(r->task.arena, "%s:%lld", kind, (long long)id);
    int64_t affected;

    if (!idem->key.len)
        return 0;
    TRY(sql_exec(r,
                 &affected,
                 SQL_IDEM_NOTE(.principal = idem->principal,
                               .key = idem->key,
                               .token = idem->token,
                               .target = target)));
    return affected ? 0 : idempotency_fail_taken_over(r);
}

AWAITS static int idempotency_store_answer(struct req *r, struct idem *idem, int status)
{
    struct str body = strbuf_view(&r->body);
    const struct aead_key *key = &r->scope->project->data_key;
    struct rows rows;
    int rc = db_query(
        &r->task,
        r->scope->db,
        SQL_IDEM_KEEP(.principal = idem->principal,
                      .key = idem->key,
                      .token = idem->token,
                      .status = status,
                      .response =
                          body.len ? aead_seal(r->task.arena, key, body, idempotency_aad(r, idem))
                                   : STR_NONE),
        &rows);
    if (rc == 0)
        idem->closed = true;
    return rc;
}

/* Does not check whether another request has taken over: that request stores the same answer, which
 * comes from the same call. */
int idem_store_answer(struct req *r, struct idem *idem, int status)
{
    return sql_check(r, idem->key.len ? idempotency_store_answer(r, idem, status) : 0);
}

void idem_release(struct req *r, struct idem *idem, bool forget)
{
    struct rows rows;

    if (!idem->key.len || idem->closed)
        return;
    idem->closed = true;
    int rc = db_query(&r->task,
                      r->scope->db,
                      SQL_IDEM_RELEASE(.principal = idem->principal,
                                       .key = idem->key,
                                       .token = idem->token,
                                       .forget = forget),
                      &rows);
    if (rc) /* the key becomes free when its lease ends */
        log_debug("idempotency.not_released", L_RESULT("rc", rc));
}

/* Whether repeating the request cannot change the answer. */
static bool idempotency_is_final(const struct req *r, int status)
{
    if (status >= 200 && status < 300)
        return true;
    if (status == 409)
        return problem_find(r->error_code) == PROBLEM_PAYMENT_STATE;
    return status == 400 || status == 402 || status == 404;
}

int idem_finish(struct req *r, struct idem *idem, int rc)
{
    if (!idem->key.len || idem->closed)
        return rc;
    if (r->scope->db->lease) { /* the handler returned inside a transaction */
        db_rollback(r->scope->db);
        r->scope->db = &r->scope->project->db;
    }
    if (rc > 0 && idempotency_is_final(r, rc))
        (void)idempotency_store_answer(
            r, idem, rc); /* on failure the key is released and the request can be repeated */
    idem_release(r, idem, false);
    return rc;
}
