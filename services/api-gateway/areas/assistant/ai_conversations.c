/* /ai/conversations: each is visible to its user only, not to administrators. */
#include "areas/assistant/ai_conversations.h"

#include "ai_conversations_sql.h"
#include "limit.h"

#define CONVERSATIONS_MAX 2000 /* of a user */

struct conversation_in {
    struct in_str title, model;
};

static const struct field conversation_fields[] = {
    {.name = "title",
     FIELD_AT(struct conversation_in, title),
     .type = FIELD_STR,
     .nullable = true,
     .max = 200,
     .doc = "When left out: the beginning of the first message",
     .example = "\"Books about the sea\""},
    {.name = "model",
     FIELD_AT(struct conversation_in, model),
     .type = FIELD_STR,
     .nullable = true,
     .min = 1,
     .max = AI_MODEL_MAX,
     .doc = "null: the project's default_model",
     .example = "\"gpt-4o-mini\""},
};
static const struct schema conversation_schema =
    SCHEMA("AiConversationUpdate", struct conversation_in, conversation_fields);

static const struct field conversation_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "title", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "model", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "message_count", .type = FIELD_I64, .required = true, .is_volatile = true},
    {.name = "version", .type = FIELD_I64, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true, .is_volatile = true},
};
static const struct schema conversation_out_schema =
    SCHEMA_OUT("AiConversation", conversation_out_fields);

static const char *const roles[] = {"user", "assistant", "tool", NULL};
static const char *const statuses[] = {
    "streaming", "complete", "waiting", "interrupted", "cancelled", NULL};

static const struct field message_out_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "conversation_id", .type = FIELD_I64, .required = true},
    {.name = "role", .type = FIELD_STR, .required = true, .values = roles},
    {.name = "content",
     .type = FIELD_STR,
     .required = true,
     .doc = "While the answer is being made: the text as of about half a second ago"},
    {.name = "model", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "tool",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Tool that the model called; content is its result",
     .example = "\"list_records\""},
    {.name = "arguments",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Arguments of the tool, as the model wrote them",
     .example = "\"{}\""},
    {.name = "status",
     .type = FIELD_STR,
     .required = true,
     .values = statuses,
     .doc =
         "waiting: a workflow that the model proposed waits for the user's decision (.../confirm); "
         "interrupted: the model server or the process failed; cancelled: the answer was "
         "cancelled or had no listener, or the user declined the workflow. content is what "
         "arrived until then"},
    {.name = "code",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Why the answer was interrupted",
     .example = "\"timeout\""},
    {.name = "finish_reason",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Why the answer ended, as the model server reports it",
     .example = "\"stop\""},
    {.name = "prompt_tokens", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "completion_tokens", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "finished_at", .type = FIELD_TIME, .required = true, .nullable = true},
};
const struct schema ai_message_schema = SCHEMA_OUT("AiMessage", message_out_fields);

static int64_t conversations_user(const struct req *r)
{
    return r->scope->caller->user_id;
}

AWAITS static int ai_conversations_list(struct req *r)
{
    return reply_page(
        r, "-updated_at", SQL_AI_CONVERSATIONS_LIST(.user_id = conversations_user(r)));
}

int ai_conversation_find(struct req *r, int64_t *ret_id, struct rows *ret_rows)
{
    TRY(req_id(r, "id", ret_id));
    return sql_one(
        r, ret_rows, SQL_AI_CONVERSATION_GET(.id = *ret_id, .user_id = conversations_user(r)));
}

int ai_conversation_guard(struct req *r)
{
    struct rows rows;
    int64_t id;

    return ai_conversation_find(r, &id, &rows);
}

AWAITS static int ai_conversations_get(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(ai_conversation_find(r, &id, &rows));
    return reply_row(r, 200, &rows);
}

static const struct limit conversations_limit = {
    "ai_conversations", "A user", "conversations", CONVERSATIONS_MAX};

AWAITS static int ai_conversations_create(struct req *r)
{
    struct conversation_in in;
    struct rows rows;

    TRY(req_json(r, &conversation_schema, &in));
    const int64_t user_id = conversations_user(r);
    struct db_call count = db_call(SQL_AI_CONVERSATIONS_COUNT(.user_id = user_id));
    TRY(sql_begin(r));
    TRY(limit_check(r, &conversations_limit, user_id, &count, 1));
    TRY(sql_one(r,
                &rows,
                SQL_AI_CONVERSATION_ADD(.user_id = user_id,
                                        .title = in.title.value,
                                        .model = in.model.value)));
    int64_t id = sql_ai_conversation_add_row(&rows, 0).id;
    TRY(sql_one(r, &rows, SQL_AI_CONVERSATION_GET(.id = id, .user_id = user_id)));
    TRY(sql_commit(r));
    return reply_created(r, &rows);
}

AWAITS static int ai_conversations_update(struct req *r)
{
    struct conversation_in in;
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &conversation_schema, &in));
    TRY(sql_begin(r));
    TRY(sql_one(r,
                &rows,
                SQL_AI_CONVERSATION_SAVE(.has_title = in.title.set,
                                         .title = in.title.value,
                                         .has_model = in.model.set,
                                         .model = in.model.value,
                                         .id = id,
                                         .user_id = conversations_user(r))));
    TRY(sql_one(r, &rows, SQL_AI_CONVERSATION_GET(.id = id, .user_id = conversations_user(r))));
    TRY(sql_commit(r));
    return reply_row(r, 200, &rows);
}

AWAITS static int ai_conversations_delete(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_AI_CONVERSATION_REMOVE(.id = id, .user_id = conversations_user(r))));
    TRY(sql_commit(r));
    return reply_empty(r, 204);
}

AWAITS static int ai_messages_list(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(ai_conversation_find(r, &id, &rows));
    return reply_page(
        r, "id", SQL_AI_MESSAGES_LIST(.user_id = conversations_user(r), .conversation_id = id));
}

int ai_message_find(struct req *r, int64_t *ret_conversation_id, int64_t *ret_id, struct rows *rows)
{
    TRY(req_id(r, "id", ret_conversation_id));
    TRY(req_id(r, "messageId", ret_id));
    return sql_one(r,
                   rows,
                   SQL_AI_MESSAGE_GET(.user_id = conversations_user(r),
                                      .conversation_id = *ret_conversation_id,
                                      .id = *ret_id));
}

int ai_message_guard(struct req *r)
{
    int64_t conversation_id;
    struct rows rows;
    int64_t id;

    return ai_message_find(r, &conversation_id, &id, &rows);
}

AWAITS static int ai_messages_get(struct req *r)
{
    int64_t conversation_id;
    struct rows rows;
    int64_t id;

    TRY(ai_message_find(r, &conversation_id, &id, &rows));
    return reply_row(r, 200, &rows);
}

static const struct route ai_conversations_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/ai/conversations",
        .id = "ai_conversations_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_READ,
        .query = page_query,
        .success = {200, &conversation_out_schema, .list = true},
        .run = ai_conversations_list,
        .summary = "List the caller's conversations",
    },
    {
        .method = HTTP_GET_M,
        .path = "/ai/conversations/{id}",
        .id = "ai_conversations_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_READ,
        .success = {200, &conversation_out_schema},
        .extra_statuses = {404},
        .run = ai_conversations_get,
        .summary = "Get a conversation",
    },
    {
        .method = HTTP_POST_M,
        .path = "/ai/conversations",
        .id = "ai_conversations_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_CREATE,
        .body = &conversation_schema,
        .success = {201, &conversation_out_schema},
        .extra_statuses = {409},
        .run = ai_conversations_create,
        .summary = "Begin a conversation",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/ai/conversations/{id}",
        .id = "ai_conversations_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_UPDATE,
        .body = &conversation_schema,
        .success = {200, &conversation_out_schema},
        .extra_statuses = {404},
        .run = ai_conversations_update,
        .guard = ai_conversation_guard,
        .summary = "Rename a conversation, or give it another model",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/ai/conversations/{id}",
        .id = "ai_conversations_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = ai_conversations_delete,
        .guard = ai_conversation_guard,
        .summary = "Delete a conversation with its messages",
        .doc = "An answer that is being made is cancelled.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/ai/conversations/{id}/messages",
        .id = "ai_messages_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_READ,
        .query = page_query,
        .success = {200, &ai_message_schema, .list = true},
        .extra_statuses = {404},
        .run = ai_messages_list,
        .summary = "List the messages of a conversation",
    },
    {
        .method = HTTP_GET_M,
        .path = "/ai/conversations/{id}/messages/{messageId}",
        .id = "ai_messages_get",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CHAT_READ,
        .success = {200, &ai_message_schema},
        .extra_statuses = {404},
        .run = ai_messages_get,
        .summary = "Get a message; of an answer that is being made, the text so far",
    },
};
ROUTES(ai_conversations, "Assistant");
