/* Detection of media types by libmagic. */
#include "files/type.h"

#include <magic.h>
#include <pthread.h>
#include <stdio.h>

#include "base/ascii.h"
#include "base/result.h"

#define UNKNOWN "application/octet-stream"

/* All threads share one cookie, which libmagic does not allow to be used concurrently. It takes a
 * few pages of memory in addition to the compiled rules, which are mapped. */
static pthread_mutex_t cookie_lock = PTHREAD_MUTEX_INITIALIZER;
static magic_t cookie;

/* Limits the cost of hostile bytes: libmagic's defaults are meant for trusted files. */
static magic_t cookie_open(void)
{
    size_t names = 30;
    size_t indirections = 15;
    magic_t made = magic_open(MAGIC_MIME_TYPE | MAGIC_NO_CHECK_COMPRESS | MAGIC_NO_CHECK_ELF |
                              MAGIC_NO_CHECK_CDF);

    if (made && magic_load(made, NULL) != 0) {
        magic_close(made);
        return NULL;
    }
    if (made) {
        (void)magic_setparam(made, MAGIC_PARAM_NAME_MAX, &names);
        (void)magic_setparam(made, MAGIC_PARAM_INDIR_MAX, &indirections);
    }
    return made;
}

/* Accepts "type/subtype" only, because the type is sent as a header. */
static bool type_is_header(struct str text)
{
    struct str rest = text;
    struct str type = str_split(&rest, '/');

    return type.len > 0 && rest.len > 0 && ascii_has_only(type, ASCII_ALNUM, "-+.") &&
           ascii_has_only(rest, ASCII_ALNUM, "-+.");
}

void type_detect(struct str head, char *ret_type, size_t bytes)
{
    const char *found = NULL;
    struct str name = STR_INIT(UNKNOWN);

    (void)pthread_mutex_lock(&cookie_lock);
    if (!cookie)
        cookie = cookie_open();
    if (cookie && head.len > 0)
        found = magic_buffer(cookie, head.ptr, head.len);
    if (found && strlen(found) < bytes && type_is_header(str_from(found)))
        name = str_from(found);
    (void)snprintf(ret_type, bytes, "%.*s", STR_ARG(name));
    (void)pthread_mutex_unlock(&cookie_lock);
}

struct str type_refine(struct str mime_type, struct str name)
{
    static const struct {
        const char *ending;
        struct str type;
    } named[] = {
        {".css", STR_INIT("text/css")},
        {".js", STR_INIT("text/javascript")},
        {".mjs", STR_INIT("text/javascript")},
        {".csv", STR_INIT("text/csv")},
        {".md", STR_INIT("text/markdown")},
        {".markdown", STR_INIT("text/markdown")},
    };
    const char *dot = name.len ? memrchr(name.ptr, '.', name.len) : NULL;
    struct str ending = {dot, dot ? (size_t)(name.ptr + name.len - dot) : 0};

    if (!str_starts(mime_type, STR("text/")) && !str_is(mime_type, "application/javascript"))
        return mime_type;
    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        if (str_ieq(ending, str_from(named[i].ending)))
            return named[i].type;
    return mime_type;
}

static bool type_is_among(struct str type, const char *const *names)
{
    for (; *names; names++)
        if (str_is(type, *names))
            return true;
    return false;
}

const char *type_kind(struct str mime_type)
{
    static const char *const classes[] = {"image", "video", "audio", "text", NULL};
    static const char *const archives[] = {"application/zip",
                                           "application/gzip",
                                           "application/x-tar",
                                           "application/x-bzip2",
                                           "application/x-xz",
                                           "application/x-7z-compressed",
                                           "application/x-rar",
                                           "application/zstd",
                                           NULL};
    static const char *const documents[] = {"application/pdf",
                                            "application/msword",
                                            "application/rtf",
                                            "application/epub+zip",
                                            "application/postscript",
                                            NULL};
    struct str rest = mime_type;
    struct str class = str_split(&rest, '/');

    for (size_t i = 0; classes[i]; i++)
        if (str_is(class, classes[i]))
            return classes[i];
    if (type_is_among(mime_type, archives))
        return "archive";
    if (type_is_among(mime_type, documents) || str_starts(rest, STR("vnd.openxmlformats-")) ||
        str_starts(rest, STR("vnd.oasis.opendocument")) || str_starts(rest, STR("vnd.ms-")))
        return "document";
    return "other";
}

bool type_is_inline(struct str mime_type)
{
    static const char *const shown[] = {
        "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", NULL};

    return type_is_among(mime_type, shown);
}

bool type_has_variants(struct str mime_type)
{
    static const char *const read[] = {"image/tiff", "image/heic", "image/heif", NULL};

    return type_is_inline(mime_type) || type_is_among(mime_type, read);
}
