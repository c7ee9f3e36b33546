/* Lists of a bucket: removes all objects of a project, and aborts multipart uploads. */
#include "files/store_s3_private.h"

#include "base/codec.h"
#include "base/strbuf.h"
#include "crypto/digest.h"
#include "log/log.h"

#define PAGE          "1000"
#define DELETED_BYTES 262144U /* an XML body with 1,000 keys */

/* co: Calls page() until it sets no *ret_more, each time with a new arena, because a deleted
 * project may have had a million files. */
AWAITS static int pages_process(struct task *task,
                                AWAITS int (*page)(struct task *, struct str, bool *),
                                struct str prefix)
{
    struct arena *whole = task->arena;
    bool more = true;
    int rc = 0;

    while (rc == 0 && more) {
        task->arena = arena_new(0);
        rc = page(task, prefix, &more);
        arena_free(task->arena);
        task->arena = whole;
    }
    return rc;
}

/* --- uploads in parts --- */

AWAITS static int multipart_abort(struct task *task, struct str key, struct str upload_id)
{
    struct s3_call call = {.task = task, .method = "DELETE", .key = key};

    s3_query(&call, "uploadId", upload_id);
    int rc = s3_call(&call);
    return rc == FILES_MISSING ? 0 : rc; /* aborted or completed concurrently */
}

/* co: Aborts the uploads of a page and adds their number to *ret_count. */
AWAITS static int multipart_page_abort(struct task *task, struct str xml, size_t *ret_count)
{
    struct str upload;

    while (s3_xml_next(&xml, "Upload", &upload)) {
        struct str key = s3_xml_text(upload, "Key");
        struct str id = s3_xml_text(upload, "UploadId");
        if (!s3_is_plain(key) || !s3_is_plain(id)) {
            log_warn("files.store_list",
                     L_CSTR("why", "the key or id of an upload has unexpected characters"));
            return FILES_UNAVAILABLE;
        }
        TRY(multipart_abort(task, key, id));
        (*ret_count)++;
    }
    return 0;
}

AWAITS static int multipart_next_page_abort(struct task *task, struct str prefix, bool *ret_more)
{
    struct s3_call call = {.task = task, .method = "GET"};
    size_t aborted = 0;

    s3_query(&call, "uploads", STR(""));
    s3_query(&call, "prefix", prefix);
    s3_query(&call, "max-uploads", STR(PAGE));
    TRY(s3_call(&call));
    TRY(multipart_page_abort(task, call.text, &aborted));
    *ret_more = aborted > 0 && str_is(s3_xml_text(call.text, "IsTruncated"), "true");
    return 0;
}

int s3_abort_uploads(struct task *task, struct str prefix)
{
    return pages_process(task, multipart_next_page_abort, prefix);
}

/* --- objects --- */

AWAITS static int objects_page_delete(struct task *task, struct str page, size_t *ret_count)
{
    struct s3_call call = {.task = task, .method = "POST", .has_hidden_errors = true};
    uint8_t md5[DIGEST_MD5_BYTES];
    struct strbuf xml;
    struct str entry;

    strbuf_init(&xml, task->arena, DELETED_BYTES);
    strbuf_cstr(&xml, "<Delete><Quiet>true</Quiet>");
    while (s3_xml_next(&page, "Contents", &entry)) {
        struct str key = s3_xml_text(entry, "Key");
        if (!s3_is_plain(key)) {
            log_warn("files.store_list",
                     L_CSTR("why", "the key of an object has unexpected characters"));
            return FILES_UNAVAILABLE;
        }
        strbuf_printf(&xml, "<Object><Key>%.*s</Key></Object>", STR_ARG(key));
        (*ret_count)++;
    }
    if (*ret_count == 0)
        return 0;
    strbuf_cstr(&xml, "</Delete>");
    if (xml.overflow)
        return FILES_UNAVAILABLE;
    const struct str text = strbuf_view(&xml);
    const struct s3_body body = {
        .text = text,
        .fd = -1,
        .bytes = (int64_t)text.len,
        .sha256 = digest_sha256_hex(task->arena, text),
    };
    digest_md5(text, md5);
    call.body = &body;
    call.headers[call.header_count++] = (struct sigv4_pair){
        STR("content-md5"), codec_b64(task->arena, (struct str){(const char *)md5, sizeof(md5)})};
    s3_query(&call, "delete", STR(""));
    return s3_call(&call);
}

AWAITS static int objects_next_page_remove(struct task *task, struct str prefix, bool *ret_more)
{
    struct s3_call call = {.task = task, .method = "GET"};
    size_t removed = 0;

    s3_query(&call, "list-type", STR("2"));
    s3_query(&call, "prefix", prefix);
    s3_query(&call, "max-keys", STR(PAGE));
    TRY(s3_call(&call));
    TRY(objects_page_delete(task, call.text, &removed));
    *ret_more = removed > 0 && str_is(s3_xml_text(call.text, "IsTruncated"), "true");
    return 0;
}

int s3_remove_objects(struct task *task, struct str prefix)
{
    return pages_process(task, objects_next_page_remove, prefix);
}
