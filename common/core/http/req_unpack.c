/* Unpacks whole bodies from gzip. */
#include "http/req_unpack.h"

#include "base/gunzip.h"
#include "base/panic.h"
#include "http/req_body_private.h"

#define STEP_BYTES 16384U

void req_unpack_stream(struct req *req)
{
    struct exchange *ex = EXCHANGE(req);

    ex->gunzip = gunzip_new(req->task.arena);
    ex->unpacked_chunk = arena_alloc(req->task.arena, BODY_BUFFER_BYTES);
}

int req_unpack_measure(struct req *req, size_t max_bytes, size_t *ret_bytes)
{
    const struct body_buffer *buffer = &EXCHANGE(req)->buffers[EXCHANGE(req)->filling];
    struct gunzip *gunzip = gunzip_new(req->task.arena);
    char *scratch = arena_alloc(req->task.arena, STEP_BYTES);
    struct str input = {buffer->ptr, buffer->len};
    size_t made;

    *ret_bytes = 0;
    do {
        TRY(task_yield_if_due(&req->task));
        if (!gunzip_step(gunzip, &input, scratch, STEP_BYTES, &made))
            return REQ_BODY_MALFORMED;
        *ret_bytes += made;
        if (*ret_bytes > max_bytes)
            return REQ_BODY_TOO_LARGE;
    } while (made > 0 || input.len > 0);
    return gunzip_is_complete(gunzip) ? 0 : REQ_BODY_MALFORMED;
}

int req_unpack(struct req *req, size_t bytes)
{
    struct body_buffer *buffer = &EXCHANGE(req)->buffers[EXCHANGE(req)->filling];
    struct gunzip *gunzip = gunzip_new(req->task.arena);
    struct str input = {buffer->ptr, buffer->len};
    char *text = arena_alloc(req->task.arena, bytes + 1);
    size_t len = 0;
    size_t made;

    while (len < bytes) {
        size_t capacity = bytes - len < STEP_BYTES ? bytes - len : STEP_BYTES;
        TRY(task_yield_if_due(&req->task));
        MUST(gunzip_step(gunzip, &input, text + len, capacity, &made));
        len += made;
    }
    *buffer = (struct body_buffer){.ptr = text, .len = bytes, .cap = bytes};
    return 0;
}
