/* Messages: asking a model, following an answer through another connection, cancelling it. */
#include "areas/assistant/ai_answer.h"
#include "areas/assistant/ai_conversations.h"
#include "areas/assistant/ai_follow.h"
#include "areas/assistant/ai_history.h"
#include "areas/assistant/ai_tools.h"

#include "ai_conversations_sql.h"
#include "base/num.h"
#include "http/query.h"
#include "json/jr.h"

#define MESSAGES_MAX   2000 /* of a conversation */
#define CONTENT_MAX    32000
#define BODY_BYTES     ((size_t)2 << 20)
#define CHARACTERS_MAX 1000000

struct message_in {
    struct in_str content, model;
};

static const struct field message_fields[] = {
    {.name = "content",
     FIELD_AT(struct message_in, content),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = CONTENT_MAX,
     .example = "\"Which books are about the sea?\""},
    {.name = "model",
     FIELD_AT(struct message_in, model),
     .type = FIELD_STR,
     .nullable = true,
     .max = AI_MODEL_MAX,
     .doc = "Model of this answer; when left out: the model of the conversation, or else the "
            "project's default_model"},
};
static const struct schema message_schema =
    SCHEMA("AiMessageCreate", struct message_in, message_fields);

static int64_t messages_user(const struct req *r)
{
    return r->scope->caller->user_id;
}

/* --- the request to the model server --- */

AWAITS static int message_body(struct req *r,
                               const struct ai_config *config,
                               struct str model,
                               int64_t conversation_id,
                               const struct ai_history *history,
                               struct str *ret_body)
{
    struct strbuf *body = ARENA_NEW(r->task.arena, body);
    struct jw w;

    strbuf_init(body, r->task.arena, BODY_BYTES);
    jw_init(&w, body);
    jw_obj(&w);
    JW_STR(&w, "model", model);
    jw_lit(&w, "messages");
    jw_arr(&w);
    if (config->system_prompt.len > 0)
        ai_history_put_text(&w, STR("system"), config->system_prompt);
    TRY(ai_history_put(r, &w, conversation_id, history));
    jw_arr_end(&w);
    JW_BOOL(&w, "stream", true);
    jw_lit(&w, "stream_options");
    jw_raw(&w, STR("{\"include_usage\":true}"));
    JW_I64(&w, "max_tokens", config->max_output_tokens);
    if (config->tools) {
        jw_lit(&w, "tools");
        jw_raw(&w, str_from(ai_tools_json));
    }
    jw_obj_end(&w);
    *ret_body = strbuf_view(body);
    return 0;
}

/* --- asking --- */

/* co: Locks the conversation, and checks that it may have a further question. *ret_model is the
 * conversation's model, which may be empty. */
AWAITS static int conversation_lock(struct req *r, int64_t id, struct str *ret_model)
{
    struct rows rows;

    TRY(sql_one(r, &rows, SQL_AI_CONVERSATION_LOCK(.id = id, .user_id = messages_user(r))));
    *ret_model = sql_ai_conversation_lock_row(&rows, 0).model;
    TRY(sql_exec(r, NULL, SQL_AI_MESSAGES_BURY(.conversation_id = id)));
    TRY(sql_one(r, &rows, SQL_AI_MESSAGES_STATE(.conversation_id = id)));
    const struct sql_ai_messages_state_row state = sql_ai_messages_state_row(&rows, 0);
    if (state.streaming > 0)
        return fail(
            r,
            PROBLEM_CONFLICT,
            "An answer is being made in this conversation: wait for its end, or cancel it.");
    if (state.messages >= MESSAGES_MAX)
        return fail(r,
                    PROBLEM_CONFLICT,
                    "A conversation has at most %d messages: create a new conversation.",
                    MESSAGES_MAX);
    return 0;
}

/* co: Inserts the question and the empty answer, in the open transaction. */
AWAITS static int messages_insert(struct req *r,
                                  struct ai_question *question,
                                  const struct message_in *in,
                                  struct str model,
                                  const struct ai_history *history)
{
    struct rows rows;

    TRY(sql_one(r,
                &rows,
                SQL_AI_MESSAGE_ASK(.conversation_id = question->conversation_id,
                                   .content = in->content.value)));
    question->question_id = sql_ai_message_ask_row(&rows, 0).id;
    TRY(message_body(
        r, question->config, model, question->conversation_id, history, &question->body));
    TRY(sql_one(
        r,
        &rows,
        SQL_AI_MESSAGE_BEGIN(.conversation_id = question->conversation_id, .model = model)));
    question->message_id = sql_ai_message_begin_row(&rows, 0).id;
    return sql_exec(
        r,
        NULL,
        SQL_AI_CONVERSATION_USED(.content = in->content.value, .id = question->conversation_id));
}

AWAITS static int ai_messages_create(struct req *r)
{
    struct ai_config config;
    struct ai_reservation bill;
    struct ai_question question = {.config = &config, .bill = &bill};
    struct ai_history history = {0};
    struct message_in in;
    struct str otherwise;
    struct str model;

    TRY(req_id(r, "id", &question.conversation_id));
    TRY(req_json(r, &message_schema, &in));
    TRY(ai_config_load(r, &config));
    TRY(ai_slot_take(r, &question.hold));
    if (config.tools)
        TRY(ai_history_load(r, question.conversation_id, &history));
    TRY(sql_begin(r));
    TRY(conversation_lock(r, question.conversation_id, &otherwise));
    TRY(ai_model_choose(r, &config, &in.model, otherwise, &model));
    TRY(messages_insert(r, &question, &in, model, config.tools ? &history : NULL));
    TRY(ai_usage_reserve(r, &config, model, question.body.len, &bill));
    TRY(sql_commit(r));
    return ai_answer_begin(r, &question);
}

/* --- following --- */

/* The number of characters that the client has already. */
static int64_t characters_seen_read(struct req *r, const struct query *query)
{
    struct str header = req_header(r, "last-event-id");
    struct str text = header.len > 0 ? header : query_get(query, "last_event_id");
    int64_t seen;

    return num_parse_i64(text, &seen) && seen > 0 && seen <= CHARACTERS_MAX ? seen : 0;
}

AWAITS static int ai_messages_follow(struct req *r)
{
    struct ai_follow_params params = {0};
    const struct query *query;
    struct rows rows;

    TRY(req_query(r, &query));
    TRY(ai_message_find(r, &params.conversation_id, &params.message_id, &rows));
    if (r->method == HTTP_HEAD_M) {
        r->content_type = STR("text/event-stream");
        return reply_empty(r, 200);
    }
    params.characters_seen = characters_seen_read(r, query);
    return ai_follow_begin(r, &params);
}

/* --- cancelling --- */

AWAITS static int ai_messages_cancel(struct req *r)
{
    int64_t conversation_id;
    struct rows rows;
    int64_t id;

    TRY(ai_message_find(r, &conversation_id, &id, &rows));
    TRY(sql_all(r,
                &rows,
                SQL_AI_MESSAGE_CANCEL(.id = id,
                                      .conversation_id = conversation_id,
                                      .user_id = messages_user(r))));
    if (rows.count == 0)
        return fail(r, PROBLEM_CONFLICT, "This message is not an answer that is being made.");
    return reply_empty(r, 202);
}

static const struct query_param follow_query[] = {
    {.name = "last_event_id",
     .type = FIELD_STR,
     .doc = "Same as the header Last-Event-ID: the id of the last event that the client received"},
    {0},
};

static const struct route ai_messages_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/ai/conversations/{id}/messages",
        .id = "ai_messages_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_CREATE,
        .body = &message_schema,
        .success = {200, NULL, .content_type = "text/event-stream"},
        .extra_statuses = {404, 409},
        .run = ai_messages_create,
        .guard = ai_conversation_guard,
        .summary = "Ask a question, and receive the answer as it is made",
        .doc =
            "Server-sent events: start {\"message_id\", \"question_id\"}; delta {\"text\"}, whose "
            "id is the number of characters so far; tool {\"tool\"}: the model calls a tool, "
            "whose result is a separate message; confirm {\"message_id\"}: a workflow that the "
            "model proposed waits for the user's decision; end {\"code\"}: the client may not "
            "read the rest; done with the whole message. An answer is cancelled when its client "
            "has been gone for three seconds and no client follows the answer "
            "(.../messages/{messageId}/events with Last-Event-ID). A conversation makes one "
            "answer at a time. The model receives the newest messages of the conversation, and "
            "the results of tools that the caller may still see.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/ai/conversations/{id}/messages/{messageId}/events",
        .id = "ai_messages_follow",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_READ,
        .query = follow_query,
        .success = {200, NULL, .content_type = "text/event-stream"},
        .extra_statuses = {404},
        .run = ai_messages_follow,
        .guard = ai_message_guard,
        .summary = "Follow an answer from its beginning, or after Last-Event-ID",
        .doc =
            "Sends the events delta, end and done of the request that asked the question, through "
            "any gateway. A finished message is sent at once.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/ai/conversations/{id}/messages/{messageId}/cancel",
        .id = "ai_messages_cancel",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_UPDATE,
        .success = {202},
        .extra_statuses = {404, 409},
        .run = ai_messages_cancel,
        .guard = ai_message_guard,
        .summary = "Cancel an answer",
    },
};
ROUTES(ai_messages, "Assistant");
