/* Events of answers. */
#include "areas/assistant/ai_events.h"

#include "ai_conversations_sql.h"

#define EVENT_BYTES ((size_t)2 << 20) /* limit of one event */

struct str ai_event(struct arena *arena, int64_t id, const char *event, struct str data)
{
    struct strbuf out;

    strbuf_init(&out, arena, EVENT_BYTES);
    if (id >= 0)
        strbuf_printf(&out, "id: %lld\n", (long long)id);
    strbuf_printf(&out, "event: %s\ndata: ", event);
    strbuf_str(&out, data);
    strbuf_str(&out, STR("\n\n"));
    return strbuf_view(&out);
}

struct str ai_event_named(
    struct arena *arena, int64_t id, const char *event, const char *member, struct str text)
{
    struct strbuf data;
    struct jw w;

    strbuf_init(&data, arena, EVENT_BYTES);
    jw_init(&w, &data);
    jw_obj(&w);
    JW_STR(&w, member, text);
    jw_obj_end(&w);
    return ai_event(arena, id, event, strbuf_view(&data));
}

struct str ai_event_delta(struct arena *arena, int64_t id, struct str text)
{
    return ai_event_named(arena, id, "delta", "text", text);
}

struct str ai_event_end(struct arena *arena, const char *code)
{
    return ai_event_named(arena, -1, "end", "code", str_from(code));
}

struct str ai_event_confirm(struct arena *arena, int64_t message_id)
{
    struct str data = arena_printf(arena, "{\"message_id\":%lld}", (long long)message_id);

    return ai_event(arena, -1, "confirm", data);
}

int ai_event_done(struct task *task,
                  struct project *project,
                  int64_t user_id,
                  int64_t conversation_id,
                  int64_t message_id,
                  struct str *ret_event)
{
    struct strbuf data;
    struct rows rows;
    struct jw w;

    strbuf_init(&data, task->arena, EVENT_BYTES);
    TRY(db_query(task,
                 &project->db,
                 SQL_AI_MESSAGE_GET(.user_id = user_id,
                                    .conversation_id = conversation_id,
                                    .id = message_id),
                 &rows));
    jw_init(&w, &data);
    jw_obj(&w);
    if (rows.count > 0)
        rows_json_members(&w, &rows, 0);
    jw_obj_end(&w);
    *ret_event = ai_event(task->arena, -1, "done", strbuf_view(&data));
    return 0;
}
