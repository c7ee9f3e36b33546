/* Reads a browser's push subscription. */
#include "push/webpush_subscription.h"

#include "base/ascii.h"
#include "base/codec.h"
#include "base/num.h"
#include "crypto/ec_agree.h"
#include "json/jr.h"

/* --- origin --- */

static bool endpoint_is_printable(struct str url)
{
    for (size_t i = 0; i < url.len; i++)
        if (url.ptr[i] <= ' ' || url.ptr[i] > '~' || url.ptr[i] == '\\')
            return false;
    return true;
}

/* Accepts only characters of names: no credentials, no escapes. IPv6 is in brackets. */
static bool host_is_plain(struct str host)
{
    bool bracket = host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
    struct str inside = bracket ? (struct str){host.ptr + 1, host.len - 2} : host;

    for (size_t i = 0; i < inside.len; i++) {
        char c = inside.ptr[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && c != '.' && !(bracket ? c == ':' : c == '-' || c == '_'))
            return false;
    }
    return inside.len > 0 && inside.len <= 253;
}

/* Removes ":<port>"; *ret_port = 0 when there is none. Returns false for an invalid port. */
static bool port_cut(struct str *authority, int64_t *ret_port)
{
    size_t at = authority->len;

    *ret_port = 0;
    while (at > 0 && authority->ptr[at - 1] >= '0' && authority->ptr[at - 1] <= '9')
        at--;
    if (at == 0 || authority->ptr[at - 1] != ':')
        return true;
    struct str port = {authority->ptr + at, authority->len - at};
    authority->len = at - 1;
    return num_parse_i64(port, ret_port) && *ret_port >= 1 && *ret_port <= 65535;
}

int webpush_origin(struct arena *arena, struct str url, struct str *ret_origin)
{
    const struct str https = STR("https://");
    const struct str http = STR("http://");
    int64_t port = 0;

    if (url.len > WEBPUSH_ENDPOINT_MAX || !endpoint_is_printable(url))
        return WEBPUSH_BAD_ENDPOINT;
    bool secure = url.len >= https.len && str_ieq((struct str){url.ptr, https.len}, https);
    if (!secure && (url.len < http.len || !str_ieq((struct str){url.ptr, http.len}, http)))
        return WEBPUSH_BAD_ENDPOINT;
    size_t start = secure ? https.len : http.len;
    size_t end = start;
    while (end < url.len && !ascii_is_in(url.ptr[end], "/?#"))
        end++;
    struct str host = {url.ptr + start, end - start};
    if (!port_cut(&host, &port) || !host_is_plain(host))
        return WEBPUSH_BAD_ENDPOINT;
    host = arena_lower(arena, host);
    const char *scheme = secure ? "https" : "http";
    *ret_origin =
        port == 0 || port == (secure ? 443 : 80)
            ? arena_printf(arena, "%s://%.*s", scheme, STR_ARG(host))
            : arena_printf(arena, "%s://%.*s:%lld", scheme, STR_ARG(host), (long long)port);
    return 0;
}

/* --- keys --- */

/* Decodes exactly `bytes` bytes, in either alphabet of base64, with or without padding. */
static bool key_read(struct arena *arena, struct str text, uint8_t *ret, size_t bytes)
{
    struct str decoded;

    bool whole = text.len > 0 && text.len % 4 == 0;
    for (int i = 0; whole && i < 2 && text.ptr[text.len - 1] == '='; i++)
        text.len--;
    if (text.len > 2 * bytes)
        return false;
    char *plain = arena_cstr(arena, text);
    for (size_t i = 0; i < text.len; i++) {
        if (plain[i] == '+')
            plain[i] = '-';
        else if (plain[i] == '/')
            plain[i] = '_';
    }
    if (!codec_b64url_decode(arena, (struct str){plain, text.len}, &decoded) ||
        decoded.len != bytes)
        return false;
    memcpy(ret, decoded.ptr, bytes);
    return true;
}

int webpush_subscription_read(struct arena *arena,
                              struct str json,
                              struct webpush_subscription *ret_subscription)
{
    struct webpush_subscription found = {.secure = false};
    struct jr_error ignored;
    json_t *root = NULL;

    if (json.len > WEBPUSH_SUBSCRIPTION_BYTES || jr_parse(arena, json, &root, &ignored) != 0)
        return WEBPUSH_BAD_JSON;
    const json_t *keys = json_object_get(root, "keys");
    struct str p256dh = jr_str(keys, "p256dh");
    struct str auth = jr_str(keys, "auth");
    found.endpoint = jr_str(root, "endpoint");
    if (!found.endpoint.ptr || !p256dh.ptr || !auth.ptr)
        return WEBPUSH_BAD_JSON;
    TRY(webpush_origin(arena, found.endpoint, &found.origin));
    found.secure = str_starts(found.origin, STR("https:"));
    if (!key_read(arena, p256dh, found.point, sizeof(found.point)) ||
        !ec_point_is_valid((struct str){(const char *)found.point, EC_POINT_BYTES}))
        return WEBPUSH_BAD_POINT;
    if (!key_read(arena, auth, found.auth, sizeof(found.auth)))
        return WEBPUSH_BAD_AUTH;
    *ret_subscription = found;
    return 0;
}
