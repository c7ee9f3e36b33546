/*
 * Cache of issuers' documents (discovery, keys), one per process, with a fixed number of slots. The
 * hash of a document's address selects its slot, and a document replaces the one in its slot. For a
 * project, one task at a time requests a document, and the project's other tasks that need the
 * document wait for the answer. After a failure the document is not requested for FAILED_MS.
 */
#include "areas/auth/auth_oidc.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/num.h"
#include "fetch/fetch.h"
#include "json/jr.h"

#define SLOTS          256 /* a power of two */
#define DOCUMENT_BYTES 262144
#define FRESH_MS       3600000  /* lifetime of a document without Cache-Control */
#define FRESH_MIN_MS   60000    /* also the least time between two renewals */
#define FRESH_MAX_MS   86400000 /* 24 hours */
#define FAILED_MS      5000     /* how long a document that failed is not requested again */

struct document {
    struct arena *arena; /* owns the texts; NULL = a free slot */
    struct str url;
    struct str text;
    int64_t fetched_ms;
    int64_t fresh_until_ms;
};
static struct document documents[SLOTS];

/* Recent failures, by a hash of project and address. */
struct failure {
    unsigned long long key;
    int64_t until_ms;
    int rc;
};
static struct failure failures[SLOTS];

/* A document that one task fetches, and the tasks that wait for it. */
struct oidc_fetch {
    struct list link;
    struct list waiters;
    int64_t project;
    struct str url;
};
struct waiter {
    struct await await;
    struct list link;
};
static struct list errands = {&errands, &errands};

/* Returns the cached document, valid until the next await; NULL when the slot holds another
 * document or none. */
static struct document *oidc_cache_get(struct str url)
{
    struct document *slot = &documents[str_hash(url) & (SLOTS - 1)];

    return slot->arena && str_eq(slot->url, url) ? slot : NULL;
}

/* Returns the lifetime by Cache-Control: max-age (RFC 9111, 5.2.2.1), at least FRESH_MIN_MS and at
 * most FRESH_MAX_MS. */
static int64_t fresh_ms(const struct fetch_response *response)
{
    struct str rest = fetch_response_header(response, "cache-control");
    int64_t ms = FRESH_MS;

    while (rest.ptr) {
        struct str part = str_trim(str_split(&rest, ','));
        struct str value = part;
        struct str name = str_split(&value, '=');
        int64_t seconds;
        if (str_ieq(name, STR("no-store")) || str_ieq(name, STR("no-cache")))
            ms = 0;
        else if (str_ieq(name, STR("max-age")) && value.ptr && num_parse_i64(value, &seconds))
            ms = seconds > FRESH_MAX_MS / 1000 ? FRESH_MAX_MS : seconds * 1000;
    }
    return ms < FRESH_MIN_MS ? FRESH_MIN_MS : ms;
}

static void oidc_cache_put(struct str url, const struct fetch_response *response)
{
    struct document *slot = &documents[str_hash(url) & (SLOTS - 1)];

    arena_free(slot->arena);
    slot->arena = arena_new(url.len + response->body.len + 64);
    slot->url = arena_dup(slot->arena, url);
    slot->text = arena_dup(slot->arena, response->body);
    slot->fetched_ms = clock_mono_ms();
    slot->fresh_until_ms = slot->fetched_ms + fresh_ms(response);
}

/* Fetches a document and caches it. Returns 0, a negative, or a positive result when the issuer
 * gives no document. */
AWAITS static int renew_document(struct task *task, struct str url)
{
    const struct fetch_header headers[] = {{STR("Accept"), STR("application/json")}};
    const struct fetch_request request = {
        .url = url,
        .headers = headers,
        .nheaders = ARRAY_LEN(headers),
        .max_response_bytes = DOCUMENT_BYTES,
        .purpose = FETCH_IDENTITY,
    };
    struct fetch_response response;
    struct jr_error error;
    json_t *root;
    int rc = fetch(task, &request, &response);

    if (rc == 0 && (response.status != 200 ||
                    jr_parse_external(task->arena, response.body, &root, &error) != 0 ||
                    !json_is_object(root)))
        rc = FETCH_UNREACHABLE;
    if (rc) {
        if (rc > 0)
            log_warn("auth.issuer_failed", L_STR("url", url), L_RESULT("rc", rc));
        return rc;
    }
    oidc_cache_put(url, &response);
    return 0;
}

/* --- failures --- */

static unsigned long long failure_key(const struct task *task, struct str url)
{
    return str_hash(url) ^ (unsigned long long)task->project * 0x9e3779b97f4a7c15ULL;
}

static int recent_failure(const struct task *task, struct str url)
{
    unsigned long long key = failure_key(task, url);
    const struct failure *failure = &failures[key & (SLOTS - 1)];

    return failure->key == key && clock_mono_ms() < failure->until_ms ? failure->rc : 0;
}

/* FETCH_BUSY is not recorded: it says nothing about the issuer. */
static void oidc_record_failure(const struct task *task, struct str url, int rc)
{
    unsigned long long key = failure_key(task, url);

    if (rc > 0 && rc != FETCH_BUSY)
        failures[key & (SLOTS - 1)] =
            (struct failure){.key = key, .until_ms = clock_mono_ms() + FAILED_MS, .rc = rc};
}

/* --- one request at a time --- */

static struct oidc_fetch *oidc_fetch_find(const struct task *task, struct str url)
{
    LIST_FOR (node, &errands) {
        struct oidc_fetch *errand = LIST_ITEM(node, struct oidc_fetch, link);
        if (errand->project == task->project && str_eq(errand->url, url))
            return errand;
    }
    return NULL;
}

static void oidc_waiter_abandon(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct waiter, await)->link);
}

AWAITS static int oidc_fetch_wait(struct task *task, struct oidc_fetch *errand)
{
    struct waiter waiter;

    await_init(&waiter.await);
    waiter.await.abandon = oidc_waiter_abandon;
    list_append(&errand->waiters, &waiter.link);
    return await_wait(task, &waiter.await, 0);
}

/* Fetches the document and resumes the tasks that wait for it. Returns 0 when the document is
 * cached now. */
AWAITS static int oidc_fetch_run(struct task *task, struct str url)
{
    struct oidc_fetch errand = {.project = task->project, .url = url};
    struct list *node;

    list_init(&errand.waiters);
    list_append(&errands, &errand.link);
    int rc = renew_document(task, url);
    oidc_record_failure(task, url, rc);
    list_remove(&errand.link);
    while ((node = list_shift(&errand.waiters)) != NULL)
        await_done(&LIST_ITEM(node, struct waiter, link)->await, rc > 0 ? rc : 0);
    return rc;
}

static bool is_fresh(const struct document *known, bool renew)
{
    int64_t now_ms = clock_mono_ms();

    if (!known)
        return false;
    return renew ? now_ms - known->fetched_ms < FRESH_MIN_MS : now_ms < known->fresh_until_ms;
}

/* Returns 0 when a fresh document is cached, otherwise why there is none. If the task that fetches
 * the document is cancelled, one of the waiting tasks fetches it. */
AWAITS static int ensure_fresh(struct task *task, struct str url, bool renew)
{
    while (!is_fresh(oidc_cache_get(url), renew)) {
        struct oidc_fetch *errand = oidc_fetch_find(task, url);
        int rc = recent_failure(task, url);
        if (rc == 0)
            rc = errand ? oidc_fetch_wait(task, errand) : oidc_fetch_run(task, url);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int oidc_document(struct task *task, struct str url, bool renew, json_t **ret_root)
{
    int rc = ensure_fresh(task, url, renew);
    struct document *known = rc >= 0 ? oidc_cache_get(url) : NULL;
    struct jr_error error;

    if (!known)
        return rc;
    return jr_parse_external(task->arena, arena_dup(task->arena, known->text), ret_root, &error);
}
