/* The events that listeners receive: server-sent events. */
#include "areas/live/hub.h"

#define EVENT_BYTES ((size_t)256 * 1024) /* a larger record becomes a reset */
#define RETRY_MS    1000

static void
event_begin(struct arena *arena, struct strbuf *out, struct str position, const char *event)
{
    strbuf_init(out, arena, EVENT_BYTES);
    if (position.len > 0) /* after the listener's own head: "id: ", and its fingerprint */
        strbuf_printf(out, "%.*s\n", STR_ARG(position));
    strbuf_printf(out, "event: %s\ndata: ", event);
}

static struct http_chunk *event_end(struct strbuf *out)
{
    strbuf_str(out, STR("\n\n"));
    return http_chunk_new(strbuf_view(out));
}

static struct http_chunk *event_end_headed(struct strbuf *out)
{
    strbuf_str(out, STR("\n\n"));
    return http_chunk_new_headed(strbuf_view(out));
}

struct http_chunk *hub_event_hello(struct arena *arena, struct str position)
{
    return http_chunk_new_headed(arena_printf(
        arena, "%.*s\nretry: %d\nevent: hello\ndata: {}\n\n", STR_ARG(position), RETRY_MS));
}

/* Writes a comment with the position, so that a client without events for an hour still reconnects
 * with a position that the log reaches back to. */
struct http_chunk *hub_event_beat(struct arena *arena, struct str position)
{
    return http_chunk_new_headed(arena_printf(arena, "%.*s\n:\n\n", STR_ARG(position)));
}

struct http_chunk *hub_event_reset(struct arena *arena,
                                   struct str position,
                                   const struct entity *entity,
                                   const char *reason)
{
    struct strbuf out;
    struct jw w;

    event_begin(arena, &out, position, "reset");
    jw_init(&w, &out);
    jw_obj(&w);
    JW_STR_OR_NULL(&w, "entity", entity ? entity->name : STR(""));
    JW_CSTR(&w, "reason", reason);
    jw_obj_end(&w);
    return event_end_headed(&out);
}

struct http_chunk *hub_event_closed(struct arena *arena, struct str entity, const char *code)
{
    struct strbuf out;
    struct jw w;

    event_begin(arena, &out, STR_NONE, "closed");
    jw_init(&w, &out);
    jw_obj(&w);
    JW_STR(&w, "entity", entity);
    JW_CSTR(&w, "code", code);
    jw_obj_end(&w);
    return event_end(&out);
}

struct http_chunk *hub_event_end(struct arena *arena, const char *code)
{
    struct strbuf out;
    struct jw w;

    event_begin(arena, &out, STR_NONE, "end");
    jw_init(&w, &out);
    jw_obj(&w);
    JW_CSTR(&w, "code", code);
    jw_obj_end(&w);
    return event_end(&out);
}

struct http_chunk *hub_event_change(struct arena *arena,
                                    struct str position,
                                    const char *event,
                                    const struct changes *changes,
                                    size_t row,
                                    const struct caller *caller)
{
    const struct entity *entity = changes_entity(changes);
    struct strbuf out;
    struct jw w;

    event_begin(arena, &out, position, event);
    jw_init(&w, &out);
    jw_obj(&w);
    JW_STR(&w, "entity", entity->name);
    JW_I64(&w, "id", changes_id(changes, row));
    if (!str_is(str_from(event), "deleted")) {
        jw_lit(&w, "record");
        changes_json(changes, row, caller, &w);
    }
    jw_obj_end(&w);
    if (out.overflow)
        return hub_event_reset(arena, position, entity, "too_large");
    return event_end_headed(&out);
}

struct http_chunk *hub_event_audit(struct arena *arena, struct str position, struct str entry)
{
    return http_chunk_new_headed(arena_printf(
        arena, "%.*s\nevent: audit\ndata: %.*s\n\n", STR_ARG(position), STR_ARG(entry)));
}

void hub_send(struct hub_subscriber *listener, struct http_chunk *chunk)
{
    http_feed_send(&listener->feed, chunk);
    http_chunk_unref(chunk);
}
