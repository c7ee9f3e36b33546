/* Parses the URLs of Redis servers. */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/panic.h"
#include "redis/link_private.h"
#include "redis/url_private.h"

static char *url_part_copy(struct str text)
{
    char *to = strndup(text.ptr ? text.ptr : "", text.len);
    MUST(to != NULL);
    return to;
}

/* Takes "user:password@" off the beginning of *rest. */
static void parse_user(struct redis *redis, struct str *rest)
{
    const char *at = rest->ptr ? memrchr(rest->ptr, '@', rest->len) : NULL;

    if (!at)
        return;
    struct str both = {rest->ptr, (size_t)(at - rest->ptr)};
    free(redis->user);
    free(redis->password);
    redis->user = url_part_copy(str_split(&both, ':'));
    redis->password = url_part_copy(both);
    *rest = (struct str){at + 1, rest->len - (size_t)(at + 1 - rest->ptr)};
}

static bool parse_port(struct str text, int *ret_port)
{
    int64_t port;

    if (!num_parse_i64(text, &port) || port < 1 || port > 65535)
        return false;
    *ret_port = (int)port;
    return true;
}

/* host[:port][/database]; an IPv6 address is in brackets. */
static bool parse_host(struct redis *redis, struct str rest, struct address *address)
{
    struct str authority = str_split(&rest, '/');
    int64_t database = 0;

    if (rest.len > 0 && (!num_parse_i64(rest, &database) || database < 0 || database > 65535))
        return false;
    redis->database = (int)database;
    address->port = 6379;
    if (authority.len > 0 && authority.ptr[0] == '[') {
        const char *end = memchr(authority.ptr, ']', authority.len);
        if (!end)
            return false;
        address->host =
            url_part_copy((struct str){authority.ptr + 1, (size_t)(end - authority.ptr) - 1});
        struct str port = {end + 1, authority.len - (size_t)(end + 1 - authority.ptr)};
        return port.len == 0 ||
               (port.ptr[0] == ':' &&
                parse_port((struct str){port.ptr + 1, port.len - 1}, &address->port));
    }
    struct str host = str_split(&authority, ':');
    address->host = url_part_copy(host);
    return host.len > 0 && (!authority.ptr || parse_port(authority, &address->port));
}

bool url_parse(struct redis *redis, struct str url, struct address *ret_address)
{
    struct str rest = url;

    *ret_address = (struct address){0};
    if (str_starts(rest, STR("unix:"))) {
        ret_address->path = url_part_copy((struct str){rest.ptr + 5, rest.len - 5});
        return ret_address->path[0] == '/';
    }
    if (!str_starts(rest, STR("redis://")))
        return false;
    rest = (struct str){rest.ptr + 8, rest.len - 8};
    parse_user(redis, &rest);
    return parse_host(redis, rest, ret_address);
}

void address_done(struct address *address)
{
    free(address->host);
    free(address->path);
    *address = (struct address){0};
}

void address_pick(const struct addrinfo *found, unsigned n, char ret_text[ADDRESS_TEXT_BYTES])
{
    const struct addrinfo *at = found;

    for (; n > 0; n--)
        at = at->ai_next ? at->ai_next : found;
    if (at->ai_family == AF_INET)
        (void)uv_ip4_name((void *)at->ai_addr, ret_text, ADDRESS_TEXT_BYTES);
    else if (at->ai_family == AF_INET6)
        (void)uv_ip6_name((void *)at->ai_addr, ret_text, ADDRESS_TEXT_BYTES);
}
