/* Document bodies: created, cached in the order of their last use, and evicted. */
#include "areas/project/docs_cache.h"

#include <errno.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/panic.h"
#include "crypto/digest.h"
#include "loop/shares.h"
#include "openapi/client_types.h"
#include "openapi/openapi.h"
#include "stages/refusals.h"

#define BODY_CHUNK_BYTES     65536U
#define WAITING_REQUESTS_MAX 64 /* requests of one project that may wait to create a body */
#define KEY_BYTES            (3 * sizeof(int64_t) + DIGEST_SHA256_BYTES)
#define FINGERPRINT_SEED     0xcbf29ce484222325ULL
#define FINGERPRINT_PRIME_A  0x100000001b3ULL
#define FINGERPRINT_PRIME_B  0x9e3779b97f4a7c15ULL
#define PLATFORM_MAX         (64U << 20)

/* A body with the state that the cache needs, allocated in an arena of its own. */
struct cached_body {
    struct arena *arena;
    struct docs_body text;
    size_t cap;
    struct list link; /* in cache.lru, while is_cached */
    char key[KEY_BYTES];
    int64_t project, version;
    struct share *share; /* of cache.byte_shares; NULL = no bytes reserved */
    int refs;            /* of requests and of the cache */
    bool is_cached;      /* cache.by_key has the body */
};

static struct {
    bool is_initialized;
    struct shares byte_shares; /* of bodies that depend on the data model */
    struct shares
        creation_slots; /* one slot: bodies are created on the process's only loop thread */
    struct map *by_key;
    struct list lru; /* the most recently used last */
    struct cached_body *platform;
} cache;

static void cache_prepare(void)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)daemon_app()->conf;

    if (cache.is_initialized)
        return;
    cache.is_initialized = true;
    cache.by_key = map_new();
    list_init(&cache.lru);
    shares_init(&cache.byte_shares,
                &(struct shares_config){
                    .name = "documents",
                    .limit = (uint64_t)conf->docs_cache_bytes,
                    .per_owner = (uint64_t)conf->docs_cache_bytes / 3 * 2,
                });
    shares_init(&cache.creation_slots,
                &(struct shares_config){
                    .name = "documents_making",
                    .limit = 1,
                    .per_owner = SHARES_ANY,
                    .waiting = WAITING_REQUESTS_MAX,
                });
}

/* --- bodies --- */

static void cached_body_unref(void *arg)
{
    struct cached_body *body = arg;

    if (--body->refs > 0)
        return;
    if (body->share)
        shares_release(&cache.byte_shares, body->share, body->text.bytes);
    arena_free(body->arena);
}

static const struct docs_body *cached_body_hold(struct req *r, struct cached_body *body)
{
    body->refs++;
    arena_defer(r->task.arena, cached_body_unref, body);
    return &body->text;
}

/* Adds a chunk to two running hashes over 64-bit words. Speed matters, because a body may be
 * megabytes long. A collision gives an attacker no advantage, so the hashes need not be
 * cryptographic.
 */
static void fingerprint_add(struct docs_body *text, struct str chunk)
{
    for (size_t at = 0; at < chunk.len; at += sizeof(uint64_t)) {
        size_t left = chunk.len - at;
        uint64_t word = 0;
        memcpy(&word, chunk.ptr + at, left < sizeof(word) ? left : sizeof(word));
        text->fingerprint[0] = (text->fingerprint[0] ^ word) * FINGERPRINT_PRIME_A;
        text->fingerprint[0] ^= text->fingerprint[0] >> 29;
        text->fingerprint[1] = (text->fingerprint[1] + word) * FINGERPRINT_PRIME_B;
        text->fingerprint[1] ^= text->fingerprint[1] >> 32;
    }
}

static void chunk_append(struct cached_body *body, struct str chunk)
{
    struct docs_body *text = &body->text;

    ARENA_PUSH(body->arena, text->chunks, text->count, body->cap, arena_dup(body->arena, chunk));
    text->bytes += chunk.len;
    fingerprint_add(text, chunk);
}

/* --- creating a body in slices --- */

struct body_writer {
    struct task *task;
    struct cached_body *kept;
    struct arena *arena; /* memory of the chunk that is being written */
    struct strbuf out;
    size_t max;
};

static int chunk_take(struct body_writer *making)
{
    if (making->out.overflow || making->kept->text.bytes + making->out.len > making->max)
        return DOCS_TOO_LARGE;
    if (making->out.len)
        chunk_append(making->kept, strbuf_view(&making->out));
    arena_reset(making->arena);
    strbuf_init(&making->out, making->arena, making->max);
    return 0;
}

AWAITS static int write_slice_end(void *arg)
{
    struct body_writer *making = arg;

    if (making->out.len >= BODY_CHUNK_BYTES)
        TRY(chunk_take(making));
    return task_yield_if_due(making->task);
}

typedef int (*docs_write_fn)(struct jw *w, const struct openapi_request *about);
static const docs_write_fn writers[] = {
    [DOCS_MODEL] = openapi_model, [DOCS_CLIENT] = client_module};

/* co: Creates a body; the caller owns the one reference. Returns 0, DOCS_TOO_LARGE, or the error of
 * a wait inside. */
AWAITS static int
cached_body_create(struct req *r, docs_write_fn write, size_t max, struct cached_body **ret_body)
{
    struct arena *arena = arena_new(0);
    struct cached_body *body = ARENA_NEW(arena, body);
    struct body_writer making = {
        .task = &r->task, .kept = body, .arena = arena_new(BODY_CHUNK_BYTES), .max = max};
    struct openapi_request about = {
        .arena = r->task.arena,
        .model = r->scope->model,
        .caller = r->scope->caller,
        .chunk_done = write_slice_end,
        .chunk_done_arg = &making,
    };
    struct jw w;
    int rc;

    body->arena = arena;
    body->refs = 1;
    body->text.fingerprint[0] = FINGERPRINT_SEED;
    list_init(&body->link);
    strbuf_init(&making.out, making.arena, max);
    jw_init(&w, &making.out);
    rc = write(&w, &about);
    if (rc == 0)
        rc = chunk_take(&making);
    arena_free(making.arena);
    if (rc != 0)
        cached_body_unref(body);
    else
        *ret_body = body;
    return rc;
}

/* --- the cache --- */

static void cached_body_evict(struct cached_body *body)
{
    (void)map_remove(cache.by_key, (struct str){body->key, KEY_BYTES});
    list_remove(&body->link);
    body->is_cached = false;
    cached_body_unref(body);
}

/* Returns the least recently used body that no request uses, of one project or of all (0); NULL
 * when every body is in use. */
static struct cached_body *cached_body_find_idle(int64_t project)
{
    LIST_FOR (it, &cache.lru) {
        struct cached_body *body = LIST_ITEM(it, struct cached_body, link);
        if (body->refs == 1 && (project == 0 || body->project == project))
            return body;
    }
    return NULL;
}

/* Evicts the bodies of older versions of a project's model: no request will need these versions
 * again. */
static void docs_cache_evict_outdated(int64_t project, int64_t version)
{
    LIST_FOR (it, &cache.lru) {
        struct cached_body *body = LIST_ITEM(it, struct cached_body, link);
        if (body->project == project && body->version < version)
            cached_body_evict(body);
    }
}

/* Reserves the body's bytes. While too few are free, evicts bodies that no request uses, first
 * those of the caller's project. Returns false when every body is in use. */
static bool docs_cache_reserve(struct req *r, struct cached_body *body)
{
    struct share_owner owner = share_owner_of(&r->task);

    while (shares_try(&cache.byte_shares, owner, body->text.bytes, &body->share) != 0) {
        struct cached_body *oldest = cached_body_find_idle(owner.project);
        if (!oldest)
            oldest = cached_body_find_idle(0);
        body->share = NULL;
        if (!oldest)
            return false;
        cached_body_evict(oldest);
    }
    return true;
}

/* The key contains everything that such a body depends on: the project, the model version, the
 * kind, and for each entity the caller's actions and the fields that the caller may know. */
static struct str docs_cache_key_of(struct req *r, enum docs_kind kind)
{
    struct arena *arena = r->task.arena;
    const struct model *model = r->scope->model;
    uint64_t *rule = ARENA_ARRAY(arena, rule, 2 * model->entity_count + 1);
    int64_t numbers[] = {r->scope->project->number, model->version, kind};
    char *key = arena_alloc(arena, KEY_BYTES);
    size_t count = 0;

    for (size_t i = 0; i < model->entity_count; i++) {
        const struct entity *entity = &model->entities[i];
        uint64_t actions = 0;
        for (enum perm_action action = ACT_READ; action <= ACT_UPDATE; action++)
            actions |= (uint64_t)caller_can_entity(r->scope->caller, entity->id, action) << action;
        rule[count++] = actions;
        rule[count++] = actions ? caller_field_key(r->scope->caller, entity) : 0;
    }
    memcpy(key, numbers, sizeof(numbers));
    digest_sha256((struct str){(const char *)rule, count * sizeof(*rule)},
                  (uint8_t *)key + sizeof(numbers));
    return (struct str){key, KEY_BYTES};
}

static bool docs_cache_find(struct req *r, struct str key, const struct docs_body **ret_text)
{
    struct cached_body *body = map_get(cache.by_key, key);

    if (!body)
        return false;
    list_remove(&body->link);
    list_append(&cache.lru, &body->link);
    *ret_text = cached_body_hold(r, body);
    return true;
}

static int refuse_large(struct req *r)
{
    return fail(r, PROBLEM_TOO_LARGE_ANSWER, "The document of this data model is too large.");
}

static int refuse_busy(struct req *r)
{
    return refusal(
        r, REFUSE_BUSY, "Too many documents are being created or sent; try again later.");
}

AWAITS static int docs_cache_add(struct req *r,
                                 enum docs_kind kind,
                                 struct str key,
                                 const struct docs_body **ret_text)
{
    struct cached_body *body;
    int rc = cached_body_create(r, writers[kind], cache.byte_shares.config.per_owner, &body);

    if (rc == DOCS_TOO_LARGE)
        return refuse_large(r);
    TRY(rc);
    body->project = r->scope->project->number;
    body->version = r->scope->model->version;
    docs_cache_evict_outdated(body->project, body->version);
    if (!docs_cache_reserve(r, body)) {
        cached_body_unref(body);
        return refuse_busy(r);
    }
    memcpy(body->key, key.ptr, KEY_BYTES);
    body->is_cached = map_put(cache.by_key, key, body) == NULL;
    MUST(body->is_cached);
    list_append(&cache.lru, &body->link);
    *ret_text = cached_body_hold(r, body);
    return 0;
}

/* co: Acquires the slot to create a body; the caller releases the slot. */
AWAITS static int creation_slot_acquire(struct req *r, struct share **ret_share)
{
    int rc =
        shares_acquire(&r->task, &cache.creation_slots, share_owner_of(&r->task), 1, 0, ret_share);

    return rc == -EAGAIN ? refuse_busy(r) : rc;
}

int docs_body_of(struct req *r, enum docs_kind kind, const struct docs_body **ret_text)
{
    struct share *share;
    struct str key;
    int rc = 0;

    cache_prepare();
    key = docs_cache_key_of(r, kind);
    if (docs_cache_find(r, key, ret_text))
        return 0;
    TRY(creation_slot_acquire(r, &share));
    if (!docs_cache_find(r, key, ret_text)) /* maybe created during the wait */
        rc = docs_cache_add(r, kind, key, ret_text);
    shares_release(&cache.creation_slots, share, 1);
    return rc;
}

int docs_body_platform(struct req *r, const struct docs_body **ret_text)
{
    struct share *share;
    int rc = 0;

    cache_prepare();
    if (!cache.platform) {
        TRY(creation_slot_acquire(r, &share));
        if (!cache.platform)
            rc = cached_body_create(r, openapi_platform, PLATFORM_MAX, &cache.platform);
        shares_release(&cache.creation_slots, share, 1);
        TRY(rc);
    }
    *ret_text = &cache.platform->text; /* valid until the process ends */
    return 0;
}

/* Frees all bodies that no request uses. */
static void docs_cache_stop(void)
{
    struct cached_body *body;

    if (!cache.is_initialized)
        return;
    while ((body = cached_body_find_idle(0)) != NULL)
        cached_body_evict(body);
    if (cache.platform)
        cached_body_unref(cache.platform);
    cache.platform = NULL;
}

const struct area_life docs_cache_life = {.stop = docs_cache_stop};
