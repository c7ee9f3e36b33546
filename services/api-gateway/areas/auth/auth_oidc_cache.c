/*
 * Documents of issuers (discovery, keys), cached per process. A fixed number of slots: a document
 * has one slot by the hash of its address, another document there makes way.
 */
#include "areas/auth/auth_oidc.h"

#include "base/clock.h"
#include "base/num.h"
#include "fetch/fetch.h"
#include "json/jr.h"

#define SLOTS          256 /* a power of two */
#define DOCUMENT_BYTES 262144
#define FRESH_MS       3600000  /* without Cache-Control */
#define FRESH_MIN_MS   60000    /* and at most one renewal a minute */
#define FRESH_MAX_MS   86400000 /* 24 hours */

struct document {
    struct arena *arena; /* owns the texts; NULL = a free slot */
    struct str url;
    struct str text;
    int64_t fetched_ms;
    int64_t fresh_until_ms;
};
static struct document documents[SLOTS];

/* NULL when the slot holds another document or none. Valid until the next await. */
static struct document *find(struct str url)
{
    struct document *slot = &documents[str_hash(url) & (SLOTS - 1)];

    return slot->arena && str_eq(slot->url, url) ? slot : NULL;
}

/* Cache-Control: max-age (RFC 9111, 5.2.2.1), within our bounds. */
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

static void keep(struct str url, const struct fetch_response *response)
{
    struct document *slot = &documents[str_hash(url) & (SLOTS - 1)];

    arena_free(slot->arena);
    slot->arena = arena_new(url.len + response->body.len + 64);
    slot->url = arena_dup(slot->arena, url);
    slot->text = arena_dup(slot->arena, response->body);
    slot->fetched_ms = clock_mono_ms();
    slot->fresh_until_ms = slot->fetched_ms + fresh_ms(response);
}

/* 0 with the document of the issuer's answer, which is kept; positive when there is none. */
AWAITS static int renew_document(struct task *task, struct str url, json_t **ret_root)
{
    const struct fetch_header headers[] = {{STR("Accept"), STR("application/json")}};
    const struct fetch_request request = {
        .url = url,
        .headers = headers,
        .nheaders = ARRAY_LEN(headers),
        .max_response_bytes = DOCUMENT_BYTES,
    };
    struct fetch_response response;
    struct jr_error error;
    json_t *root;
    int rc = fetch(task, &request, &response);

    if (rc == 0 &&
        (response.status != 200 || jr_parse(task->arena, response.body, &root, &error) != 0 ||
         !json_is_object(root)))
        rc = FETCH_UNREACHABLE;
    if (rc) {
        if (rc > 0)
            log_warn("auth.issuer_failed", L_STR("url", url), L_I64("rc", rc));
        return rc;
    }
    keep(url, &response);
    *ret_root = root;
    return 0;
}

int oidc_document(struct task *task, struct str url, bool renew, json_t **ret_root)
{
    struct document *known = find(url);
    int64_t now_ms = clock_mono_ms();
    struct jr_error error;
    bool fresh = known && now_ms < known->fresh_until_ms;

    if (renew)
        fresh = known && now_ms - known->fetched_ms < FRESH_MIN_MS;
    if (!fresh) {
        int rc = renew_document(task, url, ret_root);
        known = rc > 0 ? find(url) : NULL;
        if (!known)
            return rc;
    }
    return jr_parse(task->arena, arena_dup(task->arena, known->text), ret_root, &error);
}
