/* Redirect addresses: which are allowed, and which are the same. */
#include "project/redirect.h"

#include <string.h>

#include "base/ascii.h"
#include "json/schema.h"

/* Browsers run the content of these addresses, or open local files and other programs with them. */
static const char *const refused_schemes[] = {
    "about",
    "blob",
    "chrome",
    "content",
    "data",
    "file",
    "filesystem",
    "ftp",
    "intent",
    "jar",
    "javascript",
    "mailto",
    "sms",
    "tel",
    "vbscript",
    "view-source",
    "ws",
    "wss",
};

static bool is_web(struct str scheme)
{
    return str_ieq(scheme, STR("http")) || str_ieq(scheme, STR("https"));
}

static bool is_refused_scheme(struct str scheme)
{
    for (size_t i = 0; i < ARRAY_LEN(refused_schemes); i++)
        if (str_ieq(scheme, str_from(refused_schemes[i])))
            return true;
    return false;
}

/* RFC 3986, 3.1. */
static bool is_scheme(struct str text)
{
    return text.len > 0 && ascii_is(text.ptr[0], ASCII_LETTER) &&
           ascii_has_only(text, ASCII_ALNUM, "+-.");
}

static bool is_plain_url(struct str url)
{
    for (size_t i = 0; i < url.len; i++)
        if (url.ptr[i] <= ' ' || url.ptr[i] > '~' || strchr("\\<>\"", url.ptr[i]) != NULL)
            return false;
    return true;
}

static bool has_wildcard(struct str url)
{
    struct str page = str_split(&url, '#');

    page = str_split(&page, '?');
    return memchr(page.ptr, '*', page.len) != NULL;
}

const char *redirect_url_fault(struct str url)
{
    struct str rest = url;
    struct str scheme = str_split(&rest, ':');

    if (is_web(scheme)) {
        if (!schema_format_ok("url", url))
            return "must be an absolute URL";
        return has_wildcard(url) ? "must not contain a wildcard: list each page separately" : NULL;
    }
    if (!is_scheme(scheme) || !str_starts(rest, STR("/")) || !is_plain_url(url))
        return "must be an absolute URL, or an app's address such as com.example.app:/signed-in";
    return is_refused_scheme(scheme)
               ? "must not have a scheme that browsers run or open on their own"
               : NULL;
}

/* The parts of a web address. `path` begins after the first slash, with query and fragment. */
struct web_address {
    struct str scheme, host, port, path;
};

/* Returns false when `url` is no web address, or has user information. */
static bool web_address_read(struct str url, struct web_address *ret)
{
    struct str rest = url;
    size_t end = 0;

    ret->scheme = str_split(&rest, ':');
    if (!is_web(ret->scheme) || !str_starts(rest, STR("//")))
        return false;
    struct str host = {rest.ptr + 2, rest.len - 2};
    while (end < host.len && !ascii_is_in(host.ptr[end], "/?#"))
        end++;
    ret->path = (struct str){host.ptr + end, host.len - end};
    if (str_starts(ret->path, STR("/")))
        ret->path = (struct str){ret->path.ptr + 1, ret->path.len - 1};
    host.len = end;
    const char *colon = memrchr(host.ptr, ':', host.len);
    const char *bracket = memrchr(host.ptr, ']', host.len);
    ret->port = str_ieq(ret->scheme, STR("https")) ? STR("443") : STR("80");
    if (colon && (!bracket || colon > bracket)) {
        ret->port = (struct str){colon + 1, (size_t)(host.ptr + host.len - colon - 1)};
        host.len = (size_t)(colon - host.ptr);
    }
    ret->host = host;
    return memchr(host.ptr, '@', host.len) == NULL;
}

bool redirect_url_is_same(struct str one, struct str other)
{
    struct web_address a;
    struct web_address b;

    if (!web_address_read(one, &a) || !web_address_read(other, &b))
        return str_eq(one, other);
    return str_ieq(a.scheme, b.scheme) && str_ieq(a.host, b.host) && str_eq(a.port, b.port) &&
           str_eq(a.path, b.path);
}

bool redirect_url_is_listed(const struct project_settings *settings, struct str url)
{
    for (size_t i = 0; i < settings->redirect_url_count; i++)
        if (redirect_url_is_same(settings->redirect_urls[i], url))
            return true;
    return false;
}
