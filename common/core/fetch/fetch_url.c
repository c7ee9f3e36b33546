/* Parses URLs; checks ports and the operator's allow list. */
#include "fetch/fetch_url_private.h"

#include <arpa/inet.h>

#include "base/ascii.h"
#include "base/codec.h"
#include "base/num.h"
#include "base/panic.h"
#include "fetch/fetch.h"
#include "fetch/fetch_address_private.h"

enum { CACHED_URLS = 16 };

/* A cache of parsed URLs: each slot has the last URL of its hash. The allow list affects the
 * result, so fetch_url_allow_done() empties the cache. */
static struct cached_url {
    struct arena *arena; /* NULL = empty slot */
    struct str text;
    struct fetch_url url;
} remembered[CACHED_URLS];

static struct arena *allow_arena;
static struct str *allow_list;
static size_t allow_count;

void fetch_url_allow(const struct str *allow, size_t nallow)
{
    MUST(allow_arena == NULL);
    allow_arena = arena_new(0);
    allow_list = ARENA_ARRAY(allow_arena, allow_list, nallow);
    allow_count = nallow;
    for (size_t i = 0; i < nallow; i++)
        allow_list[i] = arena_dup(allow_arena, allow[i]);
}

void fetch_url_allow_done(void)
{
    for (size_t i = 0; i < CACHED_URLS; i++) {
        arena_free(remembered[i].arena);
        remembered[i] = (struct cached_url){0};
    }
    arena_free(allow_arena);
    allow_arena = NULL;
    allow_list = NULL;
    allow_count = 0;
}

static bool allow_has(struct str entry)
{
    for (size_t i = 0; i < allow_count; i++)
        if (str_ieq(allow_list[i], entry))
            return true;
    return false;
}

/* --- checks before parsing --- */

static bool is_printable(struct str url)
{
    for (size_t i = 0; i < url.len; i++)
        if (url.ptr[i] <= ' ' || url.ptr[i] > '~' || url.ptr[i] == '\\')
            return false;
    return true;
}

/* Returns the text between "scheme://" and the path. False: the scheme is not http or https. */
static bool authority_cut(struct str url, struct str *ret_authority)
{
    const struct str schemes[] = {STR("http://"), STR("https://")};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t start = schemes[i].len;
        if (url.len < start || !str_ieq((struct str){url.ptr, start}, schemes[i]))
            continue;
        size_t end = start;
        while (end < url.len && !ascii_is_in(url.ptr[end], "/?#"))
            end++;
        *ret_authority = (struct str){url.ptr + start, end - start};
        return true;
    }
    return false;
}

/* Accepts only characters of names, addresses and ports: no credentials, and no escapes, which
 * could hide dots, digits and zone ids. */
static bool authority_is_plain(struct str authority)
{
    return authority.len > 0 && ascii_has_only(authority, ASCII_ALNUM, "-._:[]");
}

/* --- host --- */

static bool is_ipv4(const char *host)
{
    struct in_addr ignored;
    return inet_pton(AF_INET, host, &ignored) == 1;
}

/* Returns whether the last label is a number. Such a name is an IPv4 address in an unusual notation
 * (WHATWG URL, 3.5): even if libcurl did not convert it, a resolver may. */
static bool ends_in_number(struct str host)
{
    struct str rest = host;
    struct str label = host;
    while (rest.ptr)
        label = str_split(&rest, '.');
    if (str_starts(label, STR("0x")) || str_starts(label, STR("0X")))
        return true;
    return ascii_has_only(label, ASCII_DIGIT, "");
}

/* Reads the host. Drops one trailing dot, also from the URL that libcurl uses. */
static int host_read(struct arena *arena, struct fetch_url *url)
{
    char *text = NULL;
    if (curl_url_get(url->parsed, CURLUPART_HOST, &text, 0) != CURLUE_OK)
        return FETCH_BAD_URL;
    char *host = arena_strdup(arena, text);
    curl_free(text);

    size_t len = strlen(host);
    if (len > 1 && host[len - 1] == '.') {
        host[--len] = '\0';
        if (curl_url_set(url->parsed, CURLUPART_HOST, host, 0) != CURLUE_OK)
            return FETCH_BAD_URL;
    }
    if (len == 0 || len > 253 || host[0] == '.' || host[len - 1] == '.' || strstr(host, ".."))
        return FETCH_BAD_URL;
    url->host = host;
    url->is_address = host[0] == '[' || is_ipv4(host);
    if (!url->is_address && ends_in_number(str_from(host)))
        return FETCH_BAD_URL;
    return 0;
}

static int port_read(struct fetch_url *url)
{
    char *text = NULL;
    int64_t port = 0;
    if (curl_url_get(url->parsed, CURLUPART_PORT, &text, CURLU_DEFAULT_PORT) != CURLUE_OK)
        return FETCH_BAD_URL;
    bool number = num_parse_i64(str_from(text), &port);
    curl_free(text);
    if (!number || port < 1 || port > 65535)
        return FETCH_BAD_URL;
    url->port = (long)port;
    return 0;
}

static bool literal_is_public(struct arena *arena, const char *host)
{
    if (host[0] != '[')
        return fetch_address_text_is_public(host);
    struct str inside = {host + 1, strlen(host) - 2};
    return fetch_address_text_is_public(arena_cstr(arena, inside));
}

static int rules_check(struct arena *arena, struct fetch_url *url)
{
    bool with_port = allow_has(arena_printf(arena, "%s:%ld", url->host, url->port));
    bool common_port = url->port == 80 || url->port == 443;

    url->any_address = with_port || (common_port && allow_has(str_from(url->host)));
    if (!common_port && !with_port)
        return FETCH_REFUSED;
    if (url->is_address && !url->any_address && !literal_is_public(arena, url->host))
        return FETCH_REFUSED;
    return 0;
}

static void parsed_release(void *parsed)
{
    curl_url_cleanup(parsed);
}

static int address_read(struct arena *arena, struct str url, struct fetch_url *result)
{
    struct str authority;

    if (url.len == 0 || url.len > FETCH_MAX_URL_BYTES || !is_printable(url))
        return FETCH_BAD_URL;
    if (!authority_cut(url, &authority) || !authority_is_plain(authority))
        return FETCH_BAD_URL;
    result->parsed = curl_url();
    MUST(result->parsed != NULL);
    arena_defer(arena, parsed_release, result->parsed);
    if (curl_url_set(result->parsed, CURLUPART_URL, arena_cstr(arena, url), CURLU_DISALLOW_USER) !=
        CURLUE_OK)
        return FETCH_BAD_URL;
    result->secure = url.ptr[strlen("http")] != ':'; /* http or https */
    TRY(host_read(arena, result));
    return port_read(result);
}

int fetch_url_parse(struct arena *arena, struct str url, struct fetch_url *ret_url)
{
    struct fetch_url result = {0};

    TRY(address_read(arena, url, &result));
    TRY(rules_check(arena, &result));
    *ret_url = result;
    return 0;
}

struct str fetch_url_target(struct arena *arena, const struct fetch_url *url)
{
    char *path = NULL;
    char *query = NULL;

    MUST(curl_url_get(url->parsed, CURLUPART_PATH, &path, 0) == CURLUE_OK);
    (void)curl_url_get(url->parsed, CURLUPART_QUERY, &query, 0); /* the URL may have no query */
    struct str target =
        arena_printf(arena, "%s%s%s", path, query != NULL ? "?" : "", query != NULL ? query : "");
    curl_free(path);
    curl_free(query);
    return target;
}

static int url_cache_put(struct cached_url *entry, struct str url)
{
    struct cached_url made = {.arena = arena_new(0)};
    int rc = fetch_url_parse(made.arena, url, &made.url);

    if (rc != 0) {
        arena_free(made.arena);
        return rc;
    }
    made.text = arena_dup(made.arena, url);
    made.url.target = fetch_url_target(made.arena, &made.url);
    arena_free(entry->arena);
    *entry = made;
    return 0;
}

int fetch_url_parse_cached(struct arena *arena, struct str url, struct fetch_url *ret_url)
{
    struct cached_url *entry = &remembered[str_hash(url) % CACHED_URLS];

    if (entry->arena == NULL || !str_eq(entry->text, url))
        TRY(url_cache_put(entry, url));
    *ret_url = entry->url;
    ret_url->parsed = NULL;
    ret_url->host = arena_strdup(arena, entry->url.host);
    ret_url->target = arena_dup(arena, entry->url.target);
    return 0;
}

int fetch_url_host(struct arena *arena, struct str url, struct str *ret_host)
{
    struct fetch_url result = {0};

    TRY(address_read(arena, url, &result));
    *ret_host = str_from(result.host);
    return 0;
}

int fetch_url_check(struct str url)
{
    struct fetch_url ignored;
    struct arena *arena = arena_new(0);
    int rc = fetch_url_parse(arena, url, &ignored);
    arena_free(arena);
    return rc;
}

struct str fetch_url_escape(struct arena *arena, struct str url)
{
    struct str authority;

    if (!authority_cut(url, &authority))
        return url;
    size_t begin = (size_t)(authority.ptr + authority.len - url.ptr);
    struct str rest = codec_percent_ascii(arena, (struct str){url.ptr + begin, url.len - begin});
    return rest.len == url.len - begin
               ? url
               : arena_printf(arena, "%.*s%.*s", (int)begin, url.ptr, STR_ARG(rest));
}

/* Encodes blanks as %20. libcurl would write a blank in a query as '+', which only forms use. */
static struct str blanks_escape(struct arena *arena, struct str location)
{
    struct strbuf out;

    strbuf_init(&out, arena, 3 * location.len);
    for (size_t i = 0; i < location.len; i++)
        strbuf_str(&out, location.ptr[i] == ' ' ? STR("%20") : (struct str){location.ptr + i, 1});
    return strbuf_view(&out);
}

/* Joins the two URLs with libcurl; NULL when this fails. Freed with curl_free(). */
static char *url_join(struct arena *arena, struct str base, struct str location)
{
    CURLU *joined = curl_url();
    char *text = NULL;

    MUST(joined != NULL);
    if (curl_url_set(joined, CURLUPART_URL, arena_cstr(arena, base), CURLU_DISALLOW_USER) ==
            CURLUE_OK &&
        curl_url_set(joined,
                     CURLUPART_URL,
                     arena_cstr(arena, blanks_escape(arena, location)),
                     CURLU_DISALLOW_USER | CURLU_URLENCODE) == CURLUE_OK &&
        curl_url_set(joined, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK)
        (void)curl_url_get(joined, CURLUPART_URL, &text, 0);
    curl_url_cleanup(joined);
    return text;
}

int fetch_url_join(struct arena *arena, struct str base, struct str location, struct str *ret_url)
{
    struct fetch_url ignored;

    if (location.len == 0 || location.len > FETCH_MAX_URL_BYTES ||
        memchr(location.ptr, '\0', location.len) != NULL)
        return FETCH_BAD_URL;
    char *text = url_join(arena, base, location);
    if (text == NULL)
        return FETCH_BAD_URL;
    struct str url = arena_dup(arena, str_from(text));
    curl_free(text);
    TRY(fetch_url_parse(arena, url, &ignored));
    *ret_url = url;
    return 0;
}

bool fetch_url_is_allowed(struct str url)
{
    struct fetch_url parsed;
    struct arena *arena = arena_new(0);
    bool allowed = fetch_url_parse(arena, url, &parsed) == 0 && parsed.any_address;

    arena_free(arena);
    return allowed;
}
