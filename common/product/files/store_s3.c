/*
 * The store in a bucket: [<prefix>/]<project>/<key>. Bytes are collected in a nameless file of the
 * spool folder, one part at a time, so that a request can be repeated and is signed with the
 * SHA-256 of its body. Files above S3_PART_BYTES are sent in parts (multipart upload).
 *
 * The store's answers are verified. If an ETag is not the MD5 of the sent bytes (with some stores
 * it never is), the bytes are read back once, and their SHA-256 decides.
 */
#include "files/store_s3_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/codec.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "files/type.h"
#include "log/log.h"
#include "loop/work.h"

#define S3_PARTS_MAX   10000
#define S3_PARTS_BYTES ((size_t)2 << 20)
#define S3_SPOOL_MODE  0600
#define S3_SPOOL_BYTES 1152
#define S3_READ_TRIES  3

struct s3_writer {
    struct store_writer *writer;
    int fd;                    /* spool file; -1 = not created yet */
    int64_t spooled;           /* bytes of this part */
    struct digest sha256, md5; /* of this part */
    bool has_mime_type;        /* mime_type is set */
    char mime_type[128];
    struct str upload_id;   /* of the multipart upload; no ptr = not begun */
    struct strbuf parts;    /* the body of CompleteMultipartUpload so far */
    struct digest etag_md5; /* MD5 over the MD5s of the parts */
    int part_count;
    bool needs_read_back;    /* an ETag was not the expected one: read the bytes back */
    bool may_be_begun_twice; /* the multipart upload may have been begun twice */
};

/* --- on threads --- */

struct s3_put {
    struct s3_writer *s3;
    struct str chunk;
    bool writes_spool; /* write the chunk to the spool file */
    int error;
};

/* Creates a nameless file; if O_TMPFILE is not supported, a file that is unlinked at once. */
static int spool_create(void)
{
    const struct str folder = s3_config()->spool_dir;
    char path[S3_SPOOL_BYTES];
    int fd = open(folder.ptr, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, S3_SPOOL_MODE);

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    (void)snprintf(path, sizeof(path), "%.*s/groundwork-XXXXXX", STR_ARG(folder));
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

static bool spool_write(struct s3_put *put)
{
    struct s3_writer *s3 = put->s3;
    size_t done = 0;

    if (s3->fd < 0)
        s3->fd = spool_create();
    while (s3->fd >= 0 && done < put->chunk.len) {
        ssize_t some = pwrite(
            s3->fd, put->chunk.ptr + done, put->chunk.len - done, s3->spooled + (int64_t)done);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            break;
        done += (size_t)some;
    }
    if (done == put->chunk.len)
        return true;
    put->error = errno;
    return false;
}

static void s3_put_run(void *arg)
{
    struct s3_put *put = arg;
    struct s3_writer *s3 = put->s3;

    if (!s3->has_mime_type)
        type_detect(put->chunk, s3->mime_type, sizeof(s3->mime_type));
    s3->has_mime_type = true;
    if (put->writes_spool && !spool_write(put))
        return;
    digest_update(&s3->writer->digest, put->chunk);
    digest_update(&s3->sha256, put->chunk);
    digest_update(&s3->md5, put->chunk);
    s3->spooled += (int64_t)put->chunk.len;
}

AWAITS static int spool_append(struct s3_writer *s3, struct str chunk, bool keep)
{
    struct s3_put put = {.s3 = s3, .chunk = chunk, .writes_spool = keep};
    int rc = work_run(s3->writer->task, WORK_FILE, s3_put_run, &put);

    if (rc == -EAGAIN)
        return FILES_UNAVAILABLE;
    TRY(rc);
    if (put.error == 0)
        return 0;
    log_warn("files.spool_failed", L_I64("errno", put.error));
    return put.error == ENOSPC || put.error == EDQUOT ? FILES_FULL : FILES_UNAVAILABLE;
}

/* --- writing --- */

static struct s3_writer *s3_writer_get(struct store_writer *writer)
{
    struct s3_writer *s3 = writer->s3;

    if (s3)
        return s3;
    s3 = ARENA_NEW(writer->task->arena, s3);
    s3->writer = writer;
    s3->fd = -1;
    digest_init(&s3->sha256);
    digest_md5_init(&s3->md5);
    writer->s3 = s3;
    return s3;
}

static void s3_writer_close(struct store_writer *writer)
{
    struct s3_writer *s3 = writer->s3;

    if (!s3)
        return;
    writer->s3 = NULL;
    digest_done(&s3->sha256);
    digest_done(&s3->md5);
    digest_done(&s3->etag_md5);
    if (s3->fd >= 0)
        (void)close(s3->fd);
    s3->fd = -1;
}

/* Returns the body of a request: the spool file, or `text` if there is none. Starts new digests. */
static struct s3_body
part_body_take(struct s3_writer *s3, struct str text, uint8_t ret_md5[DIGEST_MD5_BYTES])
{
    struct arena *arena = s3->writer->task->arena;
    uint8_t sha256[DIGEST_SHA256_BYTES];
    struct s3_body body = {.text = text, .fd = s3->fd, .bytes = s3->spooled};

    digest_final(&s3->sha256, sha256);
    digest_md5_final(&s3->md5, ret_md5);
    body.sha256 = codec_hex(arena, (struct str){(const char *)sha256, sizeof(sha256)});
    digest_init(&s3->sha256);
    digest_md5_init(&s3->md5);
    s3->spooled = 0;
    return body;
}

static struct str tag_unquote(struct str tag, struct str quote)
{
    if (tag.len < 2 * quote.len || !str_starts(tag, quote) || !str_ends(tag, quote))
        return tag;
    return (struct str){tag.ptr + quote.len, tag.len - 2 * quote.len};
}

/* Returns whether an ETag is the one for these MD5 bytes. `parts`: number of parts of a multipart
 * upload, 0 = none. The ETag may be quoted, also as in XML. */
static bool
etag_is_md5(struct arena *arena, struct str tag, const uint8_t md5[DIGEST_MD5_BYTES], int parts)
{
    struct str hex = codec_hex(arena, (struct str){(const char *)md5, DIGEST_MD5_BYTES});
    struct str expected = parts ? arena_printf(arena, "%.*s-%d", STR_ARG(hex), parts) : hex;

    return str_ieq(tag_unquote(tag, STR("\"")), expected) ||
           str_ieq(tag_unquote(tag, STR("&quot;")), expected);
}

AWAITS static int multipart_begin(struct s3_writer *s3)
{
    struct task *task = s3->writer->task;
    struct s3_call call = {
        .task = task, .method = "POST", .key = s3_key(task->arena, &s3->writer->key)};
    const struct s3_body none = {.fd = -1, .sha256 = digest_sha256_hex(task->arena, STR(""))};

    call.body = &none;
    s3_query(&call, "uploads", STR(""));
    TRY(s3_call(&call));
    struct str id = s3_xml_text(call.text, "UploadId");
    if (!s3_is_plain(id) || id.len > 1024) {
        log_warn("files.store_answer", L_CSTR("why", "the answer has no UploadId"));
        return FILES_UNAVAILABLE;
    }
    s3->may_be_begun_twice = call.tries > 1;
    s3->upload_id = arena_dup(task->arena, id);
    strbuf_init(&s3->parts, task->arena, S3_PARTS_BYTES);
    strbuf_cstr(&s3->parts, "<CompleteMultipartUpload>");
    digest_md5_init(&s3->etag_md5);
    return 0;
}

AWAITS static int part_send(struct s3_writer *s3)
{
    struct task *task = s3->writer->task;
    struct s3_call call = {
        .task = task, .method = "PUT", .key = s3_key(task->arena, &s3->writer->key)};
    uint8_t md5[DIGEST_MD5_BYTES];

    if (s3->part_count == S3_PARTS_MAX)
        return FILES_FULL;
    if (!s3->upload_id.ptr)
        TRY(multipart_begin(s3));
    const struct s3_body body = part_body_take(s3, STR_NONE, md5);
    int number = ++s3->part_count;
    call.body = &body;
    s3_query(&call, "partNumber", arena_printf(task->arena, "%d", number));
    s3_query(&call, "uploadId", s3->upload_id);
    int rc = s3_call(&call);
    if (rc != 0) /* 404: the collector has aborted the upload */
        return rc == FILES_MISSING ? FILES_COLLECTED : rc;
    struct str tag = s3_header(&call, "ETag");
    if (!s3_is_plain(tag) || tag.len > S3_ETAG_BYTES) {
        log_warn("files.store_answer", L_CSTR("why", "the answer has no ETag"));
        return FILES_UNAVAILABLE;
    }
    s3->needs_read_back = s3->needs_read_back || !etag_is_md5(task->arena, tag, md5, 0);
    digest_update(&s3->etag_md5, (struct str){(const char *)md5, sizeof(md5)});
    strbuf_printf(&s3->parts,
                  "<Part><PartNumber>%d</PartNumber><ETag>%.*s</ETag></Part>",
                  number,
                  STR_ARG(tag));
    return 0;
}

AWAITS static int s3_write(struct store_writer *writer, struct str chunk)
{
    struct s3_writer *s3 = s3_writer_get(writer);

    if (s3->spooled == S3_PART_BYTES)
        TRY(part_send(s3));
    return spool_append(s3, chunk, true);
}

/* co: Reads the stored bytes and compares their SHA-256. */
AWAITS static int object_verify(struct s3_writer *s3, const struct file_facts *facts)
{
    struct task *task = s3->writer->task;
    struct s3_call call = {
        .task = task, .method = "GET", .key = s3_key(task->arena, &s3->writer->key)};
    uint8_t sha256[DIGEST_SHA256_BYTES];
    struct digest digest;
    struct str chunk;
    int rc;

    rc = s3_call_open(&call);
    if (rc == FILES_MISSING)
        log_warn("files.store_lied", L_CSTR("what", "the object is missing after its upload"));
    if (rc != 0)
        return rc == FILES_MISSING ? FILES_UNAVAILABLE : rc;
    digest_init(&digest);
    do {
        rc = fetch_stream_read(call.stream, &chunk);
        if (rc == 0)
            digest_update(&digest, chunk);
    } while (rc == 0 && chunk.len > 0);
    digest_final(&digest, sha256);
    fetch_stream_close(call.stream);
    if (rc != 0)
        return rc < 0 ? rc : FILES_UNAVAILABLE;
    if (memcmp(sha256, facts->sha256, sizeof(sha256)) == 0)
        return 0;
    log_warn("files.store_lied", L_CSTR("what", "the object differs from the uploaded bytes"));
    return FILES_UNAVAILABLE;
}

AWAITS static int object_put(struct s3_writer *s3, struct str text)
{
    struct task *task = s3->writer->task;
    struct s3_call call = {
        .task = task, .method = "PUT", .key = s3_key(task->arena, &s3->writer->key)};
    uint8_t md5[DIGEST_MD5_BYTES];
    const struct s3_body body = part_body_take(s3, text, md5);

    call.body = &body;
    int rc = s3_call(&call);
    if (rc != 0)
        return rc == FILES_MISSING ? FILES_UNAVAILABLE : rc;
    s3->needs_read_back = !etag_is_md5(task->arena, s3_header(&call, "ETag"), md5, 0);
    return 0;
}

/* Completes the multipart upload. A 404 for the first try means that the collector has aborted the
 * upload. After a 404 for a later try an earlier try may have succeeded, so the bytes are read
 * back. */
AWAITS static int multipart_complete(struct s3_writer *s3)
{
    struct task *task = s3->writer->task;
    struct str key = s3_key(task->arena, &s3->writer->key);
    struct s3_call call = {.task = task, .method = "POST", .key = key, .has_hidden_errors = true};
    uint8_t md5[DIGEST_MD5_BYTES];

    strbuf_cstr(&s3->parts, "</CompleteMultipartUpload>");
    const struct str text = strbuf_view(&s3->parts);
    const struct s3_body body = {
        .text = text,
        .fd = -1,
        .bytes = (int64_t)text.len,
        .sha256 = digest_sha256_hex(task->arena, text),
    };
    call.body = &body;
    s3_query(&call, "uploadId", s3->upload_id);
    int rc = s3_call(&call);
    if (rc == FILES_MISSING && call.tries == 1)
        return FILES_COLLECTED;
    if (rc != 0 && rc != FILES_MISSING)
        return rc;
    digest_md5_final(&s3->etag_md5, md5);
    if (!etag_is_md5(task->arena, s3_xml_text(call.text, "ETag"), md5, s3->part_count))
        s3->needs_read_back = true;
    return s3->may_be_begun_twice ? s3_abort_uploads(task, key) : 0;
}

AWAITS static int s3_finish(struct store_writer *writer, struct str rest, struct file_facts *ret)
{
    struct s3_writer *s3 = s3_writer_get(writer);
    bool small = s3->fd < 0;

    if (s3->spooled == S3_PART_BYTES && rest.len > 0)
        TRY(part_send(s3));
    TRY(spool_append(s3, rest, !small));
    digest_final(&writer->digest, ret->sha256);
    (void)snprintf(ret->mime_type, sizeof(ret->mime_type), "%s", s3->mime_type);
    if (!s3->upload_id.ptr) {
        TRY(object_put(s3, rest));
    } else {
        if (s3->spooled > 0)
            TRY(part_send(s3));
        TRY(multipart_complete(s3));
    }
    return s3->needs_read_back ? object_verify(s3, ret) : 0;
}

/* --- reading --- */

static void s3_reader_close(struct store_reader *reader)
{
    if (reader->stream)
        fetch_stream_close(reader->stream);
    reader->stream = NULL;
}

/* Returns whether the answer has the whole range, which by the ledger must exist. */
static bool answer_has_range(const struct s3_call *call, int64_t offset, int64_t bytes)
{
    char expected[64];
    int64_t length = -1;

    if (!num_parse_i64(s3_header(call, "Content-Length"), &length) || length < bytes)
        return false;
    if (call->head->status == 200)
        return offset == 0;
    (void)snprintf(expected,
                   sizeof(expected),
                   "bytes %lld-%lld/",
                   (long long)offset,
                   (long long)(offset + bytes - 1));
    return str_starts(s3_header(call, "Content-Range"), str_from(expected));
}

AWAITS static int s3_range_request(struct store_reader *reader, int64_t offset, int64_t bytes)
{
    struct task *task = reader->task;
    struct s3_call call = {.task = task, .method = "GET", .key = s3_key(task->arena, &reader->key)};

    s3_reader_close(reader);
    if (bytes > 0)
        call.headers[call.header_count++] =
            (struct sigv4_pair){STR("range"),
                                arena_printf(task->arena,
                                             "bytes=%lld-%lld",
                                             (long long)offset,
                                             (long long)(offset + bytes - 1))};
    TRY(s3_call_open(&call));
    reader->stream = call.stream;
    reader->stream_offset = offset;
    if (bytes == 0 || answer_has_range(&call, offset, bytes))
        return 0;
    log_warn("files.store_answer", L_CSTR("why", "the answer does not have the requested range"));
    return FILES_UNAVAILABLE;
}

AWAITS static int s3_open(struct store_reader *reader, int64_t offset, int64_t bytes)
{
    return s3_range_request(reader, offset, bytes);
}

/* If the connection ends early, sends a new request from `offset`. */
AWAITS static int
s3_read(struct store_reader *reader, int64_t offset, int64_t bytes, struct str *ret)
{
    for (unsigned tries = 0; tries < S3_READ_TRIES; tries++) {
        if (!reader->stream || reader->stream_offset != offset)
            TRY(s3_range_request(reader, offset, bytes));
        int rc = fetch_stream_read(reader->stream, ret);
        if (rc < 0)
            return rc;
        if (rc == 0 && ret->len == 0)
            return FILES_MISSING;
        if (rc == 0) {
            reader->stream_offset = offset + (int64_t)ret->len;
            if ((int64_t)ret->len > bytes)
                ret->len = (size_t)bytes;
            return 0;
        }
        s3_reader_close(reader);
    }
    return FILES_UNAVAILABLE;
}

/* --- removing --- */

AWAITS static int s3_remove(struct task *task, const struct file_key *key)
{
    struct s3_call call = {.task = task, .method = "DELETE", .key = s3_key(task->arena, key)};
    int rc = s3_call(&call);

    if (rc != 0 && rc != FILES_MISSING)
        return rc;
    return s3_abort_uploads(task, call.key);
}

AWAITS static int s3_remove_project(struct task *task, int64_t project)
{
    struct str prefix = s3_project_prefix(task->arena, project);

    TRY(s3_remove_objects(task, prefix));
    return s3_abort_uploads(task, prefix);
}

/* --- starting --- */

static bool is_host(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!s3_is_plain((struct str){text.ptr + i, 1}) || ascii_is_in(text.ptr[i], "/?#@%\\"))
            return false;
    return text.len > 0;
}

static bool is_segment(struct str text, bool slashes)
{
    return s3_is_plain(text) && ascii_has_only(text, ASCII_ALNUM, slashes ? "-_./" : "-_.") &&
           text.ptr[0] != '/';
}

const char *store_s3_check(const struct store_s3 *config)
{
    struct str host = config->endpoint;
    size_t scheme = str_starts(host, STR("https://")) ? 8 : 7;

    if (scheme == 7 && !str_starts(host, STR("http://")))
        return "GROUNDWORK_S3_ENDPOINT is not the address of a server";
    host = (struct str){host.ptr + scheme, host.len - scheme};
    if (str_ends(host, STR("/")))
        host.len--;
    if (!is_host(host))
        return "GROUNDWORK_S3_ENDPOINT is not the address of a server";
    if (!is_segment(config->bucket, false))
        return "GROUNDWORK_S3_BUCKET is not the name of a bucket, or missing";
    if (config->prefix.len > 0 && !is_segment(config->prefix, true))
        return "GROUNDWORK_S3_PREFIX has other characters than letters, digits and -_./";
    if (!s3_is_plain(config->key_id) || config->secret.len == 0)
        return "GROUNDWORK_S3_KEY_ID or GROUNDWORK_S3_SECRET is missing";
    if (!is_segment(config->region, false))
        return "GROUNDWORK_S3_REGION is not the name of a region";
    if (config->spool_dir.ptr[0] != '/' || access(config->spool_dir.ptr, R_OK | W_OK | X_OK) != 0)
        return "GROUNDWORK_S3_SPOOL_DIR is not a folder that can be written to";
    return NULL;
}

int store_s3_probe(struct task *task, struct str *ret_reason)
{
    bool passing = false;

    int rc = s3_bucket_check(task, ret_reason, &passing);
    if (rc != FILES_UNAVAILABLE || !passing)
        return rc;
    log_warn("files.store_unreachable", L_STR("why", *ret_reason));
    return 0;
}

void store_start_s3(const struct store_s3 *config)
{
    s3_configure(config);
    store_start_with(&s3_driver);
}

const struct store_driver s3_driver = {
    .write = s3_write,
    .finish = s3_finish,
    .writer_close = s3_writer_close,
    .open = s3_open,
    .read = s3_read,
    .reader_close = s3_reader_close,
    .remove = s3_remove,
    .remove_project = s3_remove_project,
};
