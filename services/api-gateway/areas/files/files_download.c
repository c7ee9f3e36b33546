/*
 * Downloads (RFC 9110): whole or in ranges, streamed from the store in constant memory. The bytes
 * are untrusted. Everything that a browser might execute is sent as an attachment, in a sandbox
 * without scripts. Browsers must not guess a type from the content (nosniff, as on every response).
 */
#include "areas/files/files.h"
#include "areas/files/files_variant.h"

#include "base/clock.h"
#include "base/rand.h"
#include "files/link.h"
#include "files/name.h"
#include "files/type.h"
#include "http/disposition.h"
#include "http/range.h"
#include <errno.h>

#define ETAG_DIGITS   32
#define CACHE_SECONDS 300 /* of files that may stop being public */

/* --- bytes --- */

/* co: Sends bytes that the kernel has in memory, without a copy. *ret is the number of bytes that
 * were sent; 0: the bytes must be read first. */
AWAITS static int send_cached(struct req *r,
                              const struct store_reader *reader,
                              const struct range *rest,
                              int64_t *ret)
{
    int fd = store_fd(reader);

    *ret = 0;
    return fd < 0 ? 0 : resp_stream_file(r, fd, rest->first, rest->length, ret);
}

AWAITS static int send_bytes(struct req *r, struct store_reader *reader, const struct range *range)
{
    struct range rest = *range;

    while (rest.length > 0) {
        struct str chunk = STR_NONE;
        int64_t sent;
        TRY(send_cached(r, reader, &rest, &sent));
        if (sent == 0) {
            int rc = store_read(reader, rest.first, rest.length, &chunk);
            if (rc > 0) /* too late for another status, so the connection is closed */
                return ERROR(-EIO);
            TRY(rc);
            TRY(resp_stream_write(r, chunk));
            sent = (int64_t)chunk.len;
        }
        rest.first += sent;
        rest.length -= sent;
    }
    return 0;
}

AWAITS static int send_range(struct req *r,
                             struct store_reader *reader,
                             const struct file_row *file,
                             const struct range *range,
                             int status)
{
    TRY(resp_stream_begin_sized(r, status, file->mime_type, range->length));
    if (r->method != HTTP_HEAD_M)
        TRY(send_bytes(r, reader, range));
    TRY(resp_stream_end(r));
    return status;
}

/* co: Sends multipart/byteranges (RFC 9110 section 14.6). The heads of the parts are printed first,
 * because Content-Length includes them. */
AWAITS static int send_parts(struct req *r,
                             struct store_reader *reader,
                             const struct file_row *file,
                             const struct ranges *ranges)
{
    struct arena *arena = r->task.arena;
    struct str heads[RANGES_MAX];
    struct str boundary = arena_printf(
        arena, "%016llx%016llx", (unsigned long long)rand_u64(), (unsigned long long)rand_u64());
    struct str end = arena_printf(arena, "\r\n--%.*s--\r\n", STR_ARG(boundary));
    int64_t length = (int64_t)end.len;

    for (size_t i = 0; i < ranges->count; i++) {
        const struct range *range = &ranges->items[i];
        heads[i] = arena_printf(arena,
                                "\r\n--%.*s\r\nContent-Type: %.*s\r\n"
                                "Content-Range: bytes %lld-%lld/%lld\r\n\r\n",
                                STR_ARG(boundary),
                                STR_ARG(file->mime_type),
                                (long long)range->first,
                                (long long)(range->first + range->length - 1),
                                (long long)file->size);
        length += (int64_t)heads[i].len + range->length;
    }
    TRY(resp_stream_begin_sized(
        r,
        206,
        arena_printf(arena, "multipart/byteranges; boundary=%.*s", STR_ARG(boundary)),
        length));
    for (size_t i = 0; i < ranges->count; i++) {
        TRY(resp_stream_write(r, heads[i]));
        TRY(send_bytes(r, reader, &ranges->items[i]));
    }
    TRY(resp_stream_write(r, end));
    TRY(resp_stream_end(r));
    return 206;
}

/* --- headers --- */

static const char *const dispositions[] = {"inline", "attachment", NULL};

/* clang-format off: one macro */
#define DISPOSITION_QUERY                                                                          \
    {.name = "disposition",                                                                        \
     .type = FIELD_STR,                                                                            \
     .values = dispositions,                                                                       \
     .doc = "attachment: to be saved, not shown; inline: the default, only for raster images"},    \
    {                                                                                              \
        .name = "filename", .type = FIELD_STR,                                                     \
        .doc = "Name to save the file by, in place of the file's own name"                         \
    }
/* clang-format on */

/* The query may turn inline into attachment, but not attachment into inline. It may also replace
 * the name. An untrusted person may have written a link that anonymous users follow, so for
 * anonymous requests the name keeps the file's ending. */
static int download_disposition(struct req *r,
                                const struct file_row *file,
                                bool is_anonymous,
                                struct str *ret_header)
{
    const struct query *query;

    TRY(req_query(r, &query));
    struct str name = query_get(query, "filename");
    if (name.len == 0)
        name = file->filename;
    else if (is_anonymous)
        name = file_name_save_as(r->task.arena, name, file->filename);
    else
        name = file_name_clean(r->task.arena, name);
    bool attachment =
        !type_is_inline(file->mime_type) || str_is(query_get(query, "disposition"), "attachment");
    *ret_header = disposition_header(r->task.arena, attachment, name);
    return 0;
}

/* Keeps pages of our own origin from loading a project's file as a script or style, even when an
 * attacker has injected an element for it. The browser sends which site loads the file and as what
 * (Fetch Metadata), and it rejects a script or style that has another type. */
static void block_script_loads(struct req *r, struct file_row *file)
{
    struct str wanted_as = req_header(r, "sec-fetch-dest");

    if (!str_is(file->mime_type, "text/javascript") && !str_is(file->mime_type, "text/css"))
        return;
    resp_header(r, "Vary", STR("Sec-Fetch-Dest, Sec-Fetch-Site"));
    if (str_is(req_header(r, "sec-fetch-site"), "same-origin") && !str_is(wanted_as, "empty") &&
        !str_is(wanted_as, "document"))
        file->mime_type = STR("application/octet-stream");
}

static void put_headers(struct req *r,
                        const struct file_row *file,
                        struct str cache,
                        struct str disposition,
                        struct str *ret_modified)
{
    char date[CLOCK_TEXT_BYTES];

    *ret_modified =
        arena_printf(r->task.arena, "%s GMT", clock_format_mail(date, file->created_ms));
    r->no_store = false;
    resp_header(r, "Cache-Control", cache);
    resp_header(r, "Last-Modified", *ret_modified);
    resp_header(r, "Accept-Ranges", STR("bytes"));
    resp_header(r, "Content-Security-Policy", STR("default-src 'none'; sandbox"));
    resp_header(r, "Content-Disposition", disposition);
}

static int fail_range(struct req *r, int64_t size)
{
    r->no_store = true;
    r->extra_headers.len = 0; /* they describe bytes that are not sent */
    resp_header_printf(r, "Content-Range", "bytes */%lld", (long long)size);
    return fail(r, PROBLEM_RANGE_NOT_SATISFIABLE, "The file has %lld bytes.", (long long)size);
}

AWAITS static int send_ranges(struct req *r,
                              struct store_reader *reader,
                              const struct file_row *file,
                              const struct ranges *ranges)
{
    const struct range *range = &ranges->items[0];

    if (ranges->count > 1)
        return send_parts(r, reader, file, ranges);
    resp_header_printf(r,
                       "Content-Range",
                       "bytes %lld-%lld/%lld",
                       (long long)range->first,
                       (long long)(range->first + range->length - 1),
                       (long long)file->size);
    return send_range(r, reader, file, range, 206);
}

/* co: `is_anonymous`: the request is anonymous, with a signed link or without any credential. */
AWAITS static int
send_file(struct req *r, const struct rows *rows, bool is_anonymous, struct str cache)
{
    struct store_reader *reader = NULL;
    enum range_answer answer = RANGE_WHOLE;
    struct ranges ranges;
    struct file_row file;
    struct file_key key;
    struct str disposition;
    struct str modified;
    bool is_variant = false;

    file_row_read(rows, 0, &file);
    TRY(files_check_store(r));
    TRY(files_variant_find(r, is_anonymous, &file, &is_variant));
    TRY(download_disposition(r, &file, is_anonymous, &disposition));
    const struct range whole = {0, file.size};
    struct str etag = arena_printf(r->task.arena, "\"%.*s\"", ETAG_DIGITS, file.sha256.ptr);
    size_t headers = r->extra_headers.len;
    block_script_loads(r, &file);
    put_headers(r, &file, cache, disposition, &modified);
    if (resp_etag(r, etag))
        return reply_empty(r, 304);
    if (r->method == HTTP_GET_M && range_if(req_header(r, "if-range"), etag, modified))
        answer = range_parse(req_header(r, "range"), file.size, &ranges);
    if (answer == RANGE_UNSATISFIABLE) {
        r->extra_headers.len = headers;
        return fail_range(r, file.size);
    }
    file_key_set(r->scope->project->number, file.key, &key);
    if (r->method == HTTP_GET_M) {
        const struct range *first = answer == RANGE_PARTS ? &ranges.items[0] : &whole;
        int rc = store_open(&r->task, &key, first->first, first->length, &reader);
        if (rc > 0) {
            r->extra_headers.len = headers;
            r->no_store = true;
        }
        if (rc == FILES_MISSING && is_variant)
            return files_variant_drop(r, &file);
        TRY(files_check(r, rc));
    }
    r->task.deadline_ms = clock_mono_ms() + upload_limit_ms();
    return answer == RANGE_PARTS ? send_ranges(r, reader, &file, &ranges)
                                 : send_range(r, reader, &file, &whole, 200);
}

/* --- access --- */

AWAITS static int files_download(struct req *r)
{
    struct rows rows;

    TRY(files_find_path(r, FILES_KIND_FILE, ACT_READ, &rows));
    /* The browser has to revalidate each time, so that the row rule is applied. */
    return send_file(r, &rows, false, STR("private, no-cache"));
}

AWAITS static int find_public(struct req *r, struct rows *ret_rows)
{
    int64_t id;

    TRY(req_id(r, "id", &id));
    struct db_call call = files_select_unruled(items_ctx(r), id, true);
    return files_find(r, &call, ret_rows);
}

AWAITS static int file_public_guard(struct req *r)
{
    struct rows rows;

    return find_public(r, &rows);
}

AWAITS static int files_public(struct req *r)
{
    struct rows rows;

    TRY(find_public(r, &rows));
    return send_file(
        r, &rows, true, arena_printf(r->task.arena, "public, max-age=%d", CACHE_SECONDS));
}

static const struct query_param shared_query[] = {
    VARIANT_QUERY,
    DISPOSITION_QUERY,
    {.name = "token", .type = FIELD_STR, .doc = "From the url that POST /files/{id}/link returned"},
    {0},
};

/* co: Finds the file of a signed link. All defects of a token are one 401; a missing file is a 404.
 */
AWAITS static int find_shared(struct req *r, struct rows *ret_rows, int64_t *ret_end_s)
{
    const struct project *project = r->scope->project;
    const struct query *query;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_query(r, &query));
    struct str token = query_get(query, "token");
    const struct file_link link = {project->number, id};
    int rc = file_link_verify(r->task.arena,
                              project->data_keys,
                              project->data_key_count,
                              &link,
                              token,
                              clock_wall_ms(),
                              ret_end_s);
    if (rc > 0)
        return fail(r, PROBLEM_TOKEN_INVALID, "The link is not valid, or has expired.");
    struct db_call call = files_select_unruled(items_ctx(r), id, false);
    return files_find(r, &call, ret_rows);
}

AWAITS static int file_shared_guard(struct req *r)
{
    struct rows rows;
    int64_t end_s;

    return find_shared(r, &rows, &end_s);
}

AWAITS static int files_shared(struct req *r)
{
    int64_t end_s = 0;
    struct rows rows;

    TRY(find_shared(r, &rows, &end_s));
    int64_t left_s = end_s - clock_wall_ms() / 1000;
    return send_file(r,
                     &rows,
                     true,
                     arena_printf(r->task.arena,
                                  "private, max-age=%lld",
                                  (long long)(left_s < CACHE_SECONDS ? left_s : CACHE_SECONDS)));
}

static const struct query_param download_query[] = {VARIANT_QUERY, DISPOSITION_QUERY, {0}};

#define DOWNLOAD                                                                                   \
    .query = download_query, .headers = HEADER_GROUP_ID | HEADER_IF_NONE_MATCH | HEADER_RANGE,     \
    .success = {200, NULL, .content_type = "*/*"}, .extra_statuses = {404, 416, 422},              \
    .tag = "Files"

static const struct route files_download_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/files/{id}/get",
        .id = "files_download",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_FILES_READ,
        DOWNLOAD,
        .run = files_download,
        .guard = files_read_guard,
        .summary = "Download a file",
        .doc = "PNG, JPEG, GIF, WebP and AVIF are sent inline, everything else as an attachment. "
               "With width, height, fit, format or frame such a picture, a HEIC or a TIFF (its "
               "first page) is converted to that size and format, rotated as its EXIF says, in the "
               "colours of sRGB. Converted pictures are cached, 32 per file.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/files/{id}/public",
        .id = "files_public",
        .auth = AUTH_PUBLIC,
        DOWNLOAD,
        .open_query = true,
        .run = files_public,
        .guard = file_public_guard,
        .summary = "Download a public file",
    },
    {
        .method = HTTP_GET_M,
        .path = "/files/{id}/shared",
        .id = "files_shared",
        .auth = AUTH_PUBLIC,
        .query = shared_query,
        .open_query = true,
        .headers = HEADER_IF_NONE_MATCH | HEADER_RANGE,
        .success = {200, NULL, .content_type = "*/*"},
        .extra_statuses = {401, 404, 416, 422},
        .run = files_shared,
        .guard = file_shared_guard,
        .summary = "Download a file by a signed link",
    },
};
ROUTES(files_download, "Files");
