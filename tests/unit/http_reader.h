#pragma once
/* Reads a byte stream as a connection does, without sockets, and prints the result. */
#include <string.h>

#include "base/strbuf.h"
#include "http/parse_private.h"
#include "http/server.h"

/* Reads requests as a connection does. */
struct reader {
    struct arena *arena;
    struct strbuf out; /* "GET /path 4:body " for each request, "!400 " at a fault, "..." if cut */
    struct head_scan scan;
    struct strbuf head_text;
    struct body_reader body;
    struct strbuf body_text;
    bool in_body;
    bool failed;
};

static void reader_init(struct reader *reader, struct arena *arena)
{
    memset(reader, 0, sizeof(*reader));
    reader->arena = arena;
    strbuf_init(&reader->out, arena, 1 << 20);
    strbuf_init(&reader->head_text, arena, 1 << 20);
    strbuf_init(&reader->body_text, arena, 1 << 20);
}

static void reader_fail(struct reader *reader, int status)
{
    reader->failed = true;
    strbuf_printf(&reader->out, "!%d ", status);
}

static void end_body(struct reader *reader)
{
    strbuf_printf(&reader->out, "%zu:", reader->body_text.len);
    strbuf_str(&reader->out, strbuf_view(&reader->body_text));
    strbuf_char(&reader->out, ' ');
    reader->in_body = false;
    memset(&reader->scan, 0, sizeof(reader->scan));
    strbuf_init(&reader->head_text, reader->arena, 1 << 20);
    strbuf_init(&reader->body_text, reader->arena, 1 << 20);
}

static void end_head(struct reader *reader)
{
    const struct http_fault *fault;
    struct head head;
    char ignored;
    size_t used, made;

    if (head_parse(reader->arena,
                   strbuf_view(&reader->head_text),
                   &reader->scan,
                   &http_limits_default,
                   &head,
                   &fault) != 0) {
        reader_fail(reader, fault->status);
        return;
    }
    strbuf_printf(&reader->out,
                  "%s %.*s%s%.*s %s",
                  http_method_name(head.method),
                  STR_ARG(head.path),
                  head.query.len > 0 ? "?" : "",
                  STR_ARG(head.query),
                  head.keep_alive ? "" : "close ");
    reader->in_body = true;
    body_reader_init(&reader->body, &head);
    if (body_decode(&reader->body, STR(""), &ignored, 0, &used, &made) == BODY_COMPLETE)
        end_body(reader);
}

static void read_bytes(struct reader *reader, struct str bytes)
{
    while (bytes.len > 0 && !reader->failed) {
        size_t used = 0;
        if (!reader->in_body) {
            const struct http_fault *fault;
            int rc =
                head_scan(&reader->scan, &http_limits_default, bytes.ptr, bytes.len, &used, &fault);
            strbuf_str(&reader->head_text, (struct str){bytes.ptr, used});
            if (rc == HEAD_BAD)
                reader_fail(reader, fault->status);
            else if (rc == HEAD_COMPLETE)
                end_head(reader);
        } else {
            char data[16]; /* small, so that data ends at any position */
            size_t made;
            int rc = body_decode(&reader->body, bytes, data, sizeof(data), &used, &made);
            strbuf_str(&reader->body_text, (struct str){data, made});
            if (rc == BODY_BAD)
                reader_fail(reader, 400);
            else if (rc == BODY_COMPLETE)
                end_body(reader);
        }
        bytes = (struct str){bytes.ptr + used, bytes.len - used};
    }
}

static struct str read_end(struct reader *reader)
{
    if (!reader->failed && (reader->in_body || reader->scan.bytes > 0))
        strbuf_cstr(&reader->out, "...");
    return strbuf_view(&reader->out);
}
