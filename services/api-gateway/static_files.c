#include "static_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/work.h"

/* Media types by extension. Texts are UTF-8. */
static const struct {
    const char *extension;
    const char *type;
} static_types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
};

/* Forms of a file, smallest first. The last form is the file itself. */
static const struct static_form {
    const char *coding; /* as in Accept-Encoding and Content-Encoding; NULL = none */
    const char *extension;
} static_forms[] = {{"br", ".br"}, {"gzip", ".gz"}, {NULL, ""}};

#define FORMS ARRAY_LEN(static_forms)

struct static_open {
    struct str paths[FORMS]; /* "" = the client does not accept the form */
    size_t form;             /* the form that was opened */
    int fd;                  /* -1 = none */
    struct stat info;
};

/* Runs on a worker thread. */
static void static_open_first(void *arg)
{
    struct static_open *file = arg;

    for (file->form = 0; file->form < FORMS; file->form++) {
        if (!file->paths[file->form].len)
            continue;
        file->fd =
            open(file->paths[file->form].ptr, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (file->fd < 0)
            continue;
        if (fstat(file->fd, &file->info) == 0 && S_ISREG(file->info.st_mode))
            return;
        close(file->fd);
        file->fd = -1;
    }
}

static void static_close(void *arg)
{
    close(((const struct static_open *)arg)->fd);
}

/* Whether Accept-Encoding names the coding without "q=0" (RFC 9110 section 12.5.3). */
static bool accepts_coding(struct req *r, const char *coding)
{
    struct str rest = req_header(r, "accept-encoding");

    while (rest.ptr) {
        struct str weight = str_split(&rest, ',');
        struct str name = str_trim(str_split(&weight, ';'));
        weight = str_trim(weight);
        if (str_ieq(name, str_from(coding)))
            return !str_is(weight, "q=0") && !str_starts(weight, STR("q=0.0"));
    }
    return false;
}

static const char *static_type(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(static_types); i++) {
        if (str_ends(name, str_from(static_types[i].extension)))
            return static_types[i].type;
    }
    return NULL;
}

/* Whether no segment of the path is empty or begins with a dot, and each byte is a letter, a digit
 * or one of "._-". So the path stays below the folder. */
static bool is_plain_path(struct str path)
{
    bool at_begin = true;

    for (size_t i = 0; i < path.len; i++) {
        char c = path.ptr[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-';
        if (!is_word && (at_begin || (c != '.' && c != '/')))
            return false;
        at_begin = c == '/';
    }
    return !at_begin;
}

/* Puts the security headers of an answer from the folder, and its Cache-Control. */
static void static_headers(struct req *r, const struct static_folder *folder, const char *cache)
{
    resp_header(r, "Content-Security-Policy", str_from(folder->policy));
    resp_header(r, "Referrer-Policy", STR("no-referrer"));
    resp_header(r, "Cross-Origin-Opener-Policy", STR("same-origin"));
    resp_header(r, "Permissions-Policy", STR("camera=(), microphone=(), geolocation=()"));
    r->no_store = false;
    resp_header(r, "Cache-Control", str_from(cache));
}

const char *static_cache_of(struct str name)
{
    return str_starts(name, STR("assets/")) ? "public, max-age=31536000, immutable" : "no-cache";
}

AWAITS static int static_send_open(struct req *r, const struct static_open *file)
{
    const struct static_form *form = &static_forms[file->form];
    struct str etag = arena_printf(r->task.arena,
                                   "\"%llx-%llx%s\"",
                                   (long long)file->info.st_mtim.tv_sec,
                                   (long long)file->info.st_size,
                                   form->extension);

    resp_header(r, "Vary", STR("Accept-Encoding"));
    if (form->coding)
        resp_header(r, "Content-Encoding", str_from(form->coding));
    if (resp_etag(r, etag))
        return reply_empty(r, 304);
    TRY(resp_send_file(r, 200, file->fd, 0, file->info.st_size));
    return 200;
}

int static_file_send(struct req *r,
                     const struct static_folder *folder,
                     struct str name,
                     const char *cache)
{
    struct static_open *file = ARENA_NEW(r->task.arena, file);
    const char *type = static_type(name);

    if (!folder->path.len || !type || !is_plain_path(name))
        return 0;
    file->fd = -1;
    for (size_t i = 0; i < FORMS; i++) {
        if (!static_forms[i].coding || accepts_coding(r, static_forms[i].coding))
            file->paths[i] = arena_printf(r->task.arena,
                                          "%.*s/%.*s%s",
                                          STR_ARG(folder->path),
                                          STR_ARG(name),
                                          static_forms[i].extension);
    }
    TRY(work_run(&r->task, WORK_FILE, static_open_first, file));
    if (file->fd < 0)
        return 0;
    arena_defer(r->task.arena, static_close, file);
    static_headers(r, folder, cache);
    r->content_type = str_from(type);
    return static_send_open(r, file);
}

int static_page_send(struct req *r,
                     const struct static_folder *folder,
                     const char *cache,
                     const char *missing)
{
    int status = static_file_send(r, folder, str_from(folder->page), cache);

    if (status != 0)
        return status;
    static_headers(r, folder, "no-store");
    strbuf_cstr(&r->body, missing);
    r->content_type = STR("text/html; charset=utf-8");
    r->status = 200;
    return 200;
}
