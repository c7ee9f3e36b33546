/* Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): a request that moves money is
 * carried out once, however often it is sent within 24 hours. */
#include <string.h>

#include "areas/payments/payments_area.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/rand.h"
#include "catalog/problem.h"
#include "crypto/digest.h"
#include "http/server.h"
#include "idempotency_sql.h"
#include "loop/work.h"
#include "project/unseal.h"
#include "json/jr_beside.h"

#define KEY_CHARS_MAX  255
#define LEASE_LEAST_MS 60000
#define LEASE_EXTRA_MS 30000 /* behind the request's deadline: whoever had it has ended by then */
#define BODY_MEMBER    "idempotency_key"
#define SALT_CHARS     32

/* --- what is asked for --- */

static bool key_ok(struct str key)
{
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] < ' ' || key.ptr[i] > '~')
            return false;
    }
    return key.len > 0 && key.len <= KEY_CHARS_MAX;
}

/* The header's value; STR_NONE when there is none, *ret_several when they differ. */
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

/* *ret_key is STR_NONE when the caller gave none. */
static int read_key(struct req *r, const struct in_str *body_key, struct str *ret_key)
{
    bool several;
    struct str header = header_key(r, &several);
    struct str member = body_key && body_key->set && !body_key->null ? body_key->value : STR_NONE;

    if (several || (header.ptr && member.ptr && !str_eq(header, member)))
        return fail_field(r,
                          BODY_MEMBER,
                          "validation_failed",
                          "the request carries two different idempotency keys");
    *ret_key = header.ptr ? header : member;
    if (ret_key->ptr && !key_ok(*ret_key))
        return fail_field(r,
                          header.ptr ? "Idempotency-Key" : BODY_MEMBER,
                          "pattern",
                          "must be 1 to %d printable ASCII characters",
                          KEY_CHARS_MAX);
    return 0;
}

/* The body as one text, whatever the order of its members and its spaces; where the key stands does
 * not count. */
static struct str body_text(struct arena *arena, struct str body)
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

/* On the loop or on a thread, while the request waits. */
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
    digest_update(&digest, body_text(r->task.arena, hashing->body));
    digest_final(&digest, hashing->hash);
}

AWAITS static int request_hash(struct req *r, uint8_t ret_hash[DIGEST_SHA256_BYTES])
{
    struct hashing hashing = {.r = r};

    /* It has been read before: this hands out the same text. */
    if (req_body_read_all(r, req_json_max(r), &hashing.body) != 0)
        hashing.body = STR_NONE;
    if (hashing.body.len > JR_HERE_BYTES)
        work_beside(&r->task, hash_request, &hashing);
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

/* --- answers of before --- */

/* Where what was made can be found, from "payment:12". */
static void put_location(struct req *r, struct str target)
{
    struct str text = target;
    struct str what = str_split(&text, ':');
    int64_t id;

    if (num_parse_i64(text, &id))
        pay_location(r, what, id);
}

static struct str place(struct req *r, const struct idem *idem)
{
    struct arena *arena = r->task.arena;
    struct str request =
        arena_printf(arena, "%.*s:%.*s", STR_ARG(idem->principal), STR_ARG(idem->key));

    return place_answer(arena, r->project->number, request);
}

/* co: the answer that was kept; empty when it had no body. */
AWAITS static int
open_answer(struct req *r, const struct idem *idem, const struct rows *found, struct str *ret_body)
{
    size_t column = rows_column(found, "response");

    *ret_body = STR_NONE;
    if (rows_null(found, 0, column))
        return 0;
    int rc = data_key_open(&r->task,
                           r->project,
                           rows_bytes(r->task.arena, found, 0, column),
                           place(r, idem),
                           ret_body);
    if (rc <= 0)
        return rc;
    log_error("idempotency.answer_unreadable", L_STR("project", r->project->slug));
    return fail(r, "internal", NULL);
}

AWAITS static int replay(struct req *r, const struct idem *idem, const struct rows *found)
{
    struct row row = rows_at(found, 0);
    int status = (int)row_i64(&row, "status");
    struct str body;
    struct jw w;

    TRY(open_answer(r, idem, found, &body));
    w = resp_json(r);
    resp_header(r, "Idempotent-Replayed", STR("true"));
    if (status == 201)
        put_location(r, row_str(&row, "target"));
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

/* Somebody has this key, and it is not us. */
AWAITS static int answer_taken(struct req *r, const struct idem *idem, const struct rows *found)
{
    struct row row = rows_at(found, 0);

    if (!found->count) /* taken away between the statements: begin again */
        return fail(r, "idempotency_in_progress", NULL);
    if (!row_bool(&row, "same"))
        return fail(r,
                    "idempotency_mismatch",
                    "The first request with this idempotency key was a different one.");
    if (str_is(row_str(&row, "state"), "done"))
        return replay(r, idem, found);
    resp_header_printf(r, "Retry-After", "%lld", (long long)row_i64(&row, "left_seconds"));
    return fail(r,
                "idempotency_in_progress",
                "The first request with this idempotency key has not been answered yet.");
}

/* The same for all who take the request over, another for one that comes with this key on another
 * day. */
static struct str salt_of(struct req *r, const struct idem *idem, int64_t since_ms)
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
    const struct caller *caller = r->caller;
    uint8_t *hash = arena_alloc(arena, DIGEST_SHA256_BYTES);
    struct idem idem = {.ended = true};
    uint64_t chance = rand_u64();

    idem.salt = arena_printf(arena, PROCESSOR_ONCE "%016llx", (unsigned long long)chance);
    *ret_idem = idem;
    TRY(read_key(r, body_key, &idem.key));
    if (!idem.key.ptr)
        return 0;
    bool by_key = caller->kind == CALLER_KEY;
    idem.principal = arena_printf(arena,
                                  by_key ? "key:%lld" : "user:%lld",
                                  (long long)(by_key ? caller->key_id : caller->user_id));
    TRY(request_hash(r, hash));

    const struct db_param params[] = {P_STR(idem.principal),
                                      P_STR(idem.key),
                                      P_BYTES(((struct str){(char *)hash, DIGEST_SHA256_BYTES})),
                                      P_I64(lease_ms(r))};
    struct db_call calls[] = {
        {.sql = &SQL_IDEM_TAKE, .params = params, .param_count = 4},
        {.sql = &SQL_IDEM_TAKE_OVER, .params = params, .param_count = 4},
        {.sql = &SQL_IDEM_LOOK, .params = params, .param_count = 3},
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    const struct rows *ours = calls[0].rows.count ? &calls[0].rows : &calls[1].rows;
    if (!ours->count)
        return answer_taken(r, &idem, &calls[2].rows);
    idem.token = rows_i64(ours, 0, 0);
    idem.target = rows_str(ours, 0, 1);
    idem.salt = salt_of(r, &idem, rows_i64(ours, 0, 2));
    idem.ended = false;
    *ret_idem = idem;
    return 0;
}

/* --- while and after it is ours --- */

static int taken_over(struct req *r)
{
    return fail(
        r, "idempotency_in_progress", "Another request with this idempotency key has taken over.");
}

int idem_note(struct req *r, const struct idem *idem, const char *kind, int64_t id)
{
    struct str target = arena_printf(r->task.arena, "%s:%lld", kind, (long long)id);
    int64_t affected;

    if (!idem->key.len)
        return 0;
    TRY(sql_exec(
        r,
        &affected,
        &SQL_IDEM_NOTE,
        PARAMS(P_STR(idem->principal), P_STR(idem->key), P_I64(idem->token), P_STR(target))));
    return affected ? 0 : taken_over(r);
}

AWAITS static int keep(struct req *r, struct idem *idem, int status)
{
    struct str body = strbuf_view(&r->body);
    const struct aead_key *key = &r->project->data_key;
    struct rows rows;
    int rc = db_query(
        &r->task,
        r->db,
        &SQL_IDEM_KEEP,
        PARAMS(P_STR(idem->principal),
               P_STR(idem->key),
               P_I64(idem->token),
               P_I64(status),
               body.len ? P_BYTES(aead_seal(r->task.arena, key, body, place(r, idem))) : P_NULL),
        &rows);
    if (rc == 0)
        idem->ended = true;
    return rc;
}

/* Whoever has taken over keeps the same answer: it comes from the same call. */
int idem_keep(struct req *r, struct idem *idem, int status)
{
    int rc = idem->key.len ? keep(r, idem, status) : 0;

    return rc > 0 ? fail_db(r, rc) : rc;
}

void idem_release(struct req *r, struct idem *idem, bool forget)
{
    struct rows rows;

    if (!idem->key.len || idem->ended)
        return;
    idem->ended = true;
    int rc = db_query(
        &r->task,
        r->db,
        &SQL_IDEM_RELEASE,
        PARAMS(P_STR(idem->principal), P_STR(idem->key), P_I64(idem->token), P_BOOL(forget)),
        &rows);
    if (rc) /* the key is free at the end of its lease */
        log_debug("idempotency.not_released", L_I64("rc", rc));
}

/* What repeating the request cannot change. */
static bool is_final(const struct req *r, int status)
{
    if (status >= 200 && status < 300)
        return true;
    if (status == 409)
        return r->error_code && str_is(str_from(r->error_code), "payment_state");
    return status == 400 || status == 402 || status == 404;
}

int idem_end(struct req *r, struct idem *idem, int rc)
{
    if (!idem->key.len || idem->ended)
        return rc;
    if (r->db->lease) { /* left in the middle of a transaction */
        (void)db_rollback(&r->task, r->db);
        r->db = &r->project->db;
    }
    if (rc > 0 && is_final(r, rc))
        (void)keep(r, idem, rc); /* the answer holds without it, too: nothing was done */
    idem_release(r, idem, false);
    return rc;
}
