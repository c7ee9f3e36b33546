/* Parses server-sent events (HTML standard, 9.2.6). */
#include "assistant/event_stream.h"

#include "base/utf8.h"

void event_stream_init(struct event_stream *stream, struct arena *arena)
{
    *stream = (struct event_stream){0};
    strbuf_init(&stream->line, arena, EVENT_STREAM_BYTES);
    strbuf_init(&stream->data, arena, EVENT_STREAM_BYTES);
}

static void event_stream_field(struct event_stream *stream, struct str line)
{
    struct str value = line;
    struct str name = str_split(&value, ':');

    if (!str_is(name, "data"))
        return;
    if (value.len > 0 && value.ptr[0] == ' ')
        value = (struct str){value.ptr + 1, value.len - 1};
    if (stream->data_lines++ > 0)
        strbuf_char(&stream->data, '\n');
    strbuf_str(&stream->data, value);
}

/* An empty line ends an event. An event without `data` lines is not passed to fn. */
static int event_stream_line_end(struct event_stream *stream, event_stream_fn fn, void *arg)
{
    struct str line = strbuf_view(&stream->line);
    struct str data;

    if (stream->line.overflow || stream->data.overflow)
        return ASSISTANT_BAD;
    stream->line.len = 0;
    if (line.len > 0) {
        event_stream_field(stream, line);
        return stream->data.overflow ? ASSISTANT_BAD : 0;
    }
    if (stream->data_lines == 0)
        return 0;
    data = strbuf_view(&stream->data);
    stream->data_lines = 0;
    stream->data.len = 0;
    return fn(data, arg);
}

/* Returns the text before the next CR or LF. */
static struct str line_before_end(struct str rest)
{
    size_t len = 0;

    while (len < rest.len && rest.ptr[len] != '\n' && rest.ptr[len] != '\r')
        len++;
    return (struct str){rest.ptr, len};
}

/* Skips a byte order mark at the beginning of the stream. */
static struct str skip_byte_order_mark(struct event_stream *stream, struct str chunk)
{
    bool first = !stream->has_begun;

    stream->has_begun = true;
    return first ? utf8_unmarked(chunk) : chunk;
}

int event_stream_feed(struct event_stream *stream, struct str chunk, event_stream_fn fn, void *arg)
{
    struct str rest = chunk.len > 0 ? skip_byte_order_mark(stream, chunk) : chunk;

    while (rest.len > 0) {
        struct str part = line_before_end(rest);
        strbuf_str(&stream->line, part);
        if (stream->line.overflow)
            return ASSISTANT_BAD;
        if (part.len > 0)
            stream->is_after_cr = false;
        rest = (struct str){rest.ptr + part.len, rest.len - part.len};
        if (rest.len == 0)
            break;
        bool second = stream->is_after_cr && rest.ptr[0] == '\n'; /* the LF of a CR LF */
        stream->is_after_cr = rest.ptr[0] == '\r';
        rest = (struct str){rest.ptr + 1, rest.len - 1};
        if (!second)
            TRY(event_stream_line_end(stream, fn, arg));
    }
    return 0;
}
