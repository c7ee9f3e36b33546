/* VAPID tokens, cached by origin. */
#include "push/vapid.h"

#include <stdlib.h>

#include "base/ascii.h"
#include "base/codec.h"
#include "base/map.h"
#include "base/panic.h"
#include "crypto/ec.h"
#include "crypto/jws.h"
#include "fetch/fetch.h"
#include "json/jw.h"
#include "json/schema.h"

enum { CLAIMS_BYTES_MAX = 8192 };

struct vapid_token {
    struct arena *arena; /* holds the token itself, its origin and header */
    struct str origin;
    struct str header;
    int64_t renew_s;
    uint64_t last_use; /* number of the last use; the smallest is dropped first */
};

struct vapid {
    const struct ec_key *key;
    struct arena *arena; /* holds subject and public key */
    struct str subject;
    struct str public_key;
    struct map *tokens; /* origin -> struct vapid_token */
    uint64_t uses;
};

/* Returns true for a name of the public DNS, in any letter case: not "localhost", no IP address. */
static bool is_public_name(struct str host)
{
    static const char *const local[] = {"localhost", "local", "internal", "invalid", "test"};
    struct str last = host;

    if (host.len == 0 || memchr(host.ptr, '.', host.len) == NULL ||
        !ascii_has_only(host, ASCII_ALNUM, "-."))
        return false;
    for (struct str rest = host; rest.ptr != NULL;)
        last = str_split(&rest, '.');
    for (size_t i = 0; i < ARRAY_LEN(local); i++)
        if (str_ieq(last, str_from(local[i])))
            return false;
    return last.len > 0 && !ascii_has_only(last, ASCII_DIGIT, "");
}

bool vapid_subject_ok(struct arena *arena, struct str subject)
{
    const struct str mail = STR("mailto:");
    struct str host;

    if (subject.len > VAPID_SUBJECT_MAX)
        return false;
    for (size_t i = 0; i < subject.len; i++)
        if (subject.ptr[i] <= ' ' || subject.ptr[i] > '~')
            return false;
    if (!str_starts(subject, mail))
        return str_starts(subject, STR("https://")) && schema_format_ok("url", subject) &&
               fetch_url_host(arena, subject, &host) == 0 && is_public_name(host);
    host = (struct str){subject.ptr + mail.len, subject.len - mail.len};
    if (!schema_format_ok("email", host))
        return false;
    (void)str_split(&host, '@');
    return is_public_name(host);
}

struct str vapid_public_key(struct arena *arena, const struct ec_key *key)
{
    return codec_b64url(arena, ec_key_point(key));
}

struct vapid *vapid_new(const struct ec_key *key, struct str subject)
{
    struct arena *arena = arena_new(0);
    struct vapid *vapid = ARENA_NEW(arena, vapid);

    MUST(ec_key_has_private(key));
    *vapid = (struct vapid){
        .key = key,
        .arena = arena,
        .subject = arena_dup(arena, subject),
        .public_key = vapid_public_key(arena, key),
        .tokens = map_new(),
    };
    return vapid;
}

void vapid_free(struct vapid *vapid)
{
    size_t cursor = 0;
    struct str origin;
    void *value = NULL;

    if (!vapid)
        return;
    while (map_next(vapid->tokens, &cursor, &origin, &value)) {
        const struct vapid_token *token = value;
        arena_free(token->arena);
    }
    map_free(vapid->tokens);
    arena_free(vapid->arena);
}

static void vapid_drop_token(struct vapid *vapid, const struct vapid_token *token)
{
    map_remove(vapid->tokens, token->origin);
    arena_free(token->arena);
}

static void vapid_evict(struct vapid *vapid)
{
    const struct vapid_token *oldest = NULL;
    size_t cursor = 0;
    struct str origin;
    void *value = NULL;

    if (map_size(vapid->tokens) < VAPID_ORIGINS_MAX)
        return;
    while (map_next(vapid->tokens, &cursor, &origin, &value)) {
        const struct vapid_token *token = value;
        if (!oldest || token->last_use < oldest->last_use)
            oldest = token;
    }
    MUST(oldest != NULL);
    vapid_drop_token(vapid, oldest);
}

static struct vapid_token *token_sign(struct vapid *vapid, struct str origin, int64_t now_s)
{
    struct arena *arena = arena_new(0);
    struct vapid_token *token = ARENA_NEW(arena, token);
    struct strbuf claims;
    struct jw w;

    strbuf_init(&claims, arena, CLAIMS_BYTES_MAX);
    jw_init(&w, &claims);
    jw_obj(&w);
    JW_STR(&w, "aud", origin);
    JW_I64(&w, "exp", now_s + VAPID_TOKEN_S);
    JW_STR(&w, "sub", vapid->subject);
    jw_obj_end(&w);
    MUST(jw_is_complete(&w));
    struct str jwt = jws_sign_es256(arena, vapid->key, STR_NONE, strbuf_view(&claims));
    *token = (struct vapid_token){
        .arena = arena,
        .origin = arena_dup(arena, origin),
        .header =
            arena_printf(arena, "vapid t=%.*s, k=%.*s", STR_ARG(jwt), STR_ARG(vapid->public_key)),
        .renew_s = now_s + VAPID_TOKEN_S - VAPID_RENEW_S,
    };
    return token;
}

struct str vapid_header(struct vapid *vapid, struct arena *arena, struct str origin, int64_t now_ms)
{
    int64_t now_s = now_ms / 1000;
    struct vapid_token *token = map_get(vapid->tokens, origin);

    /* After a clock was set back, do not use a token that ends too late: push services refuse an
     * expiry of more than 24 hours (RFC 8292 section 2). */
    if (token && (now_s >= token->renew_s || now_s < token->renew_s - VAPID_TOKEN_S)) {
        vapid_drop_token(vapid, token);
        token = NULL;
    }
    if (!token) {
        vapid_evict(vapid);
        token = token_sign(vapid, origin, now_s);
        (void)map_put(vapid->tokens, token->origin, token);
    }
    token->last_use = ++vapid->uses;
    return arena_dup(arena, token->header);
}
