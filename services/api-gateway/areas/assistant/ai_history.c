/* Conversations as they are sent to models. */
#include "areas/assistant/ai_history.h"
#include "areas/assistant/ai_tools.h"

#include "ai_history_sql.h"
#include "base/utf8.h"
#include "json/jr.h"

#define HISTORY_BYTES   131072 /* of the newest messages together */
#define ARGUMENTS_BYTES 2048   /* of one call; {} replaces longer ones */
#define RESULT_BYTES    ((size_t)8 * 1024)
#define RESULTS_BYTES   ((size_t)48 * 1024)
#define CHECKED_BYTES   262144 /* of results that are read and checked */

#define RESULT_HIDDEN  "{\"left_out\":\"The user's rights may have changed. Call the tool again.\"}"
#define RESULT_TOO_OLD "{\"left_out\":\"The result is too old. Call the tool again.\"}"
#define RESULT_CUT     " (cut: call the tool again and request less)"

/* --- results of tools --- */

static struct str result_shorten(struct arena *arena, struct str text)
{
    if (text.len <= RESULT_BYTES)
        return text;
    struct str begin = utf8_cut(text, RESULT_BYTES);
    return arena_printf(arena, "%.*s" RESULT_CUT, STR_ARG(begin));
}

int ai_history_load(struct req *r, int64_t conversation_id, struct ai_history *ret_history)
{
    struct rows rows;
    size_t bytes = 0;

    TRY(sql_all(r,
                &rows,
                SQL_AI_RECALL_RESULTS(.user_id = r->scope->caller->user_id,
                                      .conversation_id = conversation_id,
                                      .bytes = CHECKED_BYTES)));
    *ret_history =
        (struct ai_history){ARENA_ARRAY(r->task.arena, ret_history->items, rows.count + 1), 0};
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_ai_recall_results_row row = sql_ai_recall_results_row(&rows, i);
        const struct ai_tool_stored stored = {row.tool, row.arguments, row.content, row.told_ms};
        struct str text = result_shorten(r->task.arena, row.content);
        bool may;
        if (bytes + text.len > RESULTS_BYTES)
            break;
        TRY(ai_tool_can_resend(r, &stored, &may));
        text = may ? text : STR(RESULT_HIDDEN);
        bytes += text.len;
        ret_history->items[ret_history->count++] = (struct ai_history_result){row.id, text};
    }
    return 0;
}

static struct str result_find_text(const struct ai_history *history, int64_t message_id)
{
    for (size_t i = 0; i < history->count; i++)
        if (history->items[i].message_id == message_id)
            return history->items[i].text;
    return STR(RESULT_TOO_OLD);
}

/* --- calls --- */

static struct str call_id(struct arena *arena, int64_t message_id)
{
    return arena_printf(arena, "call_%lld", (long long)message_id);
}

/* Model servers refuse arguments that are not JSON. */
static struct str call_arguments(struct arena *arena, struct str text)
{
    struct jr_error error;
    json_t *arguments;

    return text.len > 0 && jr_parse(arena, text, &arguments, &error) == 0 ? text : STR("{}");
}

static void
call_put(struct jw *w, struct arena *arena, const struct sql_ai_recall_messages_row *row)
{
    jw_obj(w);
    JW_STR(w, "id", call_id(arena, row->id));
    JW_CSTR(w, "type", "function");
    jw_lit(w, "function");
    jw_obj(w);
    JW_STR(w, "name", row->tool);
    JW_STR(w, "arguments", call_arguments(arena, row->arguments));
    jw_obj_end(w);
    jw_obj_end(w);
}

static void result_put(struct jw *w, struct arena *arena, int64_t message_id, struct str text)
{
    jw_obj(w);
    JW_CSTR(w, "role", "tool");
    JW_STR(w, "tool_call_id", call_id(arena, message_id));
    JW_STR(w, "content", text);
    jw_obj_end(w);
}

/* Writes the tool calls of one answer, then their results: the rows from index `from` - 1 down to
 * `end`. A call of an unknown tool is left out: the model invented the name, and model servers may
 * refuse such a call. */
static void calls_put(struct jw *w,
                      const struct rows *rows,
                      size_t from,
                      size_t end,
                      const struct ai_history *history)
{
    struct arena *arena = w->out->arena;
    bool any = false;

    for (size_t i = from; i > end; i--) {
        const struct sql_ai_recall_messages_row row = sql_ai_recall_messages_row(rows, i - 1);
        if (!ai_tool_exists(row.tool))
            continue;
        if (!any) {
            jw_obj(w);
            JW_CSTR(w, "role", "assistant");
            JW_CSTR(w, "content", "");
            jw_lit(w, "tool_calls");
            jw_arr(w);
        }
        any = true;
        call_put(w, arena, &row);
    }
    if (!any)
        return;
    jw_arr_end(w);
    jw_obj_end(w);
    for (size_t i = from; i > end; i--) {
        const struct sql_ai_recall_messages_row row = sql_ai_recall_messages_row(rows, i - 1);
        if (ai_tool_exists(row.tool))
            result_put(w, arena, row.id, result_find_text(history, row.id));
    }
}

/* --- the messages --- */

void ai_history_put_text(struct jw *w, struct str role, struct str content)
{
    jw_obj(w);
    JW_STR(w, "role", role);
    JW_STR(w, "content", content);
    jw_obj_end(w);
}

static bool row_has_role(const struct rows *rows, size_t i, const char *role)
{
    return str_is(sql_ai_recall_messages_row(rows, i).role, role);
}

/* Rows come newest first. The row of an answer is older than the rows of its tool calls, but the
 * calls are written before the answer. */
int ai_history_put(struct req *r,
                   struct jw *w,
                   int64_t conversation_id,
                   const struct ai_history *history)
{
    struct rows rows;
    size_t left;

    TRY(sql_all(r,
                &rows,
                SQL_AI_RECALL_MESSAGES(.conversation_id = conversation_id,
                                       .arguments_bytes = ARGUMENTS_BYTES,
                                       .result_bytes = (int64_t)RESULT_BYTES,
                                       .bytes = HISTORY_BYTES)));
    left = rows.count;
    while (left > 0 &&
           !row_has_role(&rows, left - 1, "user")) /* answers whose question does not fit */
        left--;
    while (left > 0) {
        const struct sql_ai_recall_messages_row row = sql_ai_recall_messages_row(&rows, left - 1);
        size_t end = left - 1;
        while (end > 0 && row_has_role(&rows, end - 1, "tool"))
            end--;
        if (history)
            calls_put(w, &rows, left - 1, end, history);
        if (row.content.len > 0)
            ai_history_put_text(w, row.role, row.content);
        left = end;
    }
    return 0;
}
