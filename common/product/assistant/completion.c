/* Joins the chunks of a streamed answer. */
#include "assistant/completion.h"

#include "json/jr.h"
#include "json/skim.h"

#define BYTES_PER_TOKEN      4
#define MOST_BYTES_PER_TOKEN 16

void completion_init(struct completion *completion, struct arena *arena)
{
    *completion = (struct completion){.arena = arena, .usage = {-1, -1}};
    strbuf_init(&completion->text, arena, COMPLETION_TEXT_BYTES);
}

void completion_continue(struct completion *completion)
{
    completion->call_count = 0;
    completion->finish = STR_NONE;
    completion->usage = (struct completion_usage){-1, -1};
    completion->bytes = 0;
}

static int64_t usage_member(const json_t *usage, const char *member)
{
    int64_t value = jr_i64(usage, member, -1);

    return value < 0 ? -1 : value;
}

struct completion_usage completion_usage_of(const json_t *answer)
{
    const json_t *usage = json_object_get(answer, "usage");

    return (struct completion_usage){usage_member(usage, "prompt_tokens"),
                                     usage_member(usage, "completion_tokens")};
}

/* --- messages --- */

/* Returns the text of a content part. A part is a string or an object with a member "text". */
static struct str part_text(const json_t *part)
{
    return json_is_string(part) ? (struct str){json_string_value(part), json_string_length(part)}
                                : jr_str(part, "text");
}

static void content_tidy(struct arena *arena, json_t *message)
{
    const json_t *parts = json_object_get(message, "content");
    struct strbuf text;
    size_t bytes = 1;

    if (!json_is_array(parts))
        return;
    for (size_t i = 0; i < json_array_size(parts); i++)
        bytes += part_text(json_array_get(parts, i)).len;
    strbuf_init(&text, arena, bytes);
    for (size_t i = 0; i < json_array_size(parts); i++)
        strbuf_str(&text, part_text(json_array_get(parts, i)));
    (void)json_object_set_new(message, "content", jr_text(strbuf_view(&text)));
}

void completion_message_tidy(struct arena *arena, json_t *message)
{
    const json_t *calls = json_object_get(message, "tool_calls");

    content_tidy(arena, message);
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *function = json_object_get(json_array_get(calls, i), "function");
        const json_t *arguments = json_object_get(function, "arguments");
        if (json_is_object(arguments))
            (void)json_object_set_new(function, "arguments", jr_text(jr_print(arena, arguments)));
    }
}

/* --- tool calls --- */

/* Finds the newest call with this number (-1: any) and, unless `id` is empty, with this id. */
static struct completion_call *
call_find(struct completion *completion, int64_t index, struct str id)
{
    for (size_t i = completion->call_count; i > 0; i--) {
        struct completion_call *call = &completion->calls[i - 1];
        if ((index < 0 || call->index == index) &&
            (id.len == 0 || str_eq(strbuf_view(&call->id), id)))
            return call;
    }
    return NULL;
}

/* Returns whether a part with a function name begins a new call rather than continuing `call`,
 * which has the same number or id. Some servers give all calls the same number or id, others repeat
 * the name in each part of a call. */
static bool
part_begins_call(struct arena *arena, const struct completion_call *call, json_t *function)
{
    struct str name = jr_str(function, "name");
    struct str arguments = jr_str(function, "arguments");
    const char *reason;

    if (name.len == 0 || call->arguments.len == 0)
        return false;
    if (!str_eq(strbuf_view(&call->name), name))
        return true;
    return (arguments.ptr == NULL || str_starts(arguments, STR("{"))) &&
           skim_parse(arena, strbuf_view(&call->arguments), NULL, 0, &reason) == 0;
}

/* Returns NULL when the answer has COMPLETION_CALLS_MAX calls already. */
static struct completion_call *call_new(struct completion *completion, int64_t index)
{
    if (completion->call_count == COMPLETION_CALLS_MAX)
        return NULL;
    struct completion_call *call = &completion->calls[completion->call_count++];
    call->index = index;
    strbuf_init(&call->id, completion->arena, COMPLETION_WORD_BYTES);
    strbuf_init(&call->name, completion->arena, COMPLETION_WORD_BYTES);
    strbuf_init(&call->arguments, completion->arena, COMPLETION_CALL_BYTES);
    return call;
}

/* Returns the call that a part belongs to, a new one if necessary; NULL when there are too many.
 * Sets the part's "index" to the position of the call. */
static struct completion_call *call_for_part(struct completion *completion, json_t *part)
{
    struct str id = jr_str(part, "id");
    int64_t index = jr_i64(part, "index", -1);
    struct completion_call *call = call_find(completion, index, id);
    bool is_sure = index >= 0 && id.len > 0;

    if (call == NULL ||
        (!is_sure &&
         part_begins_call(completion->arena, call, json_object_get(part, "function")))) {
        call = call_new(completion, index);
        if (call != NULL && id.len == 0)
            (void)json_object_set_new(
                part, "id", json_sprintf("call_%zu", completion->call_count - 1));
    }
    if (call != NULL)
        (void)json_object_set_new(part, "index", json_integer(call - completion->calls));
    return call;
}

/* A server may send a name at once, in parts, or complete in each part of the call. */
static void name_add(struct completion_call *call, json_t *function)
{
    struct str name = jr_str(function, "name");

    if (name.len > 0 && str_eq(strbuf_view(&call->name), name))
        (void)json_object_del(function, "name");
    else
        strbuf_str(&call->name, name);
}

static int call_add(struct completion *completion, json_t *part)
{
    struct str id = jr_str(part, "id"); /* read before call_for_part() may set one */
    struct completion_call *call = call_for_part(completion, part);
    json_t *function = json_object_get(part, "function");
    struct str arguments = jr_str(function, "arguments");

    if (call == NULL)
        return ASSISTANT_BAD;
    if (call->id.len == 0)
        strbuf_str(&call->id, id);
    name_add(call, function);
    strbuf_str(&call->arguments, arguments);
    completion->bytes += arguments.len;
    return call->id.overflow || call->name.overflow || call->arguments.overflow ? ASSISTANT_BAD : 0;
}

static int calls_add(struct completion *completion, const json_t *parts)
{
    for (size_t i = 0; i < json_array_size(parts); i++)
        TRY(call_add(completion, json_array_get(parts, i)));
    return 0;
}

/* --- chunks --- */

static int choice_add(struct completion *completion, const json_t *choice)
{
    json_t *delta = json_object_get(choice, "delta");
    struct str finish = jr_str(choice, "finish_reason");

    completion_message_tidy(completion->arena, delta);
    struct str text = jr_str(delta, "content");
    strbuf_str(&completion->text, text);
    completion->new_bytes = text.len;
    completion->bytes += text.len;
    if (finish.len > 0 && finish.len <= COMPLETION_WORD_BYTES)
        completion->finish = arena_dup(completion->arena, finish);
    TRY(calls_add(completion, json_object_get(delta, "tool_calls")));
    return completion->text.overflow || completion->bytes > COMPLETION_BYTES ? ASSISTANT_BAD : 0;
}

bool completion_is_error(const json_t *answer)
{
    const json_t *error = json_object_get(answer, "error");

    return json_is_object(error) || json_is_string(error) ||
           str_is(jr_str(answer, "object"), "error");
}

/* The last report counts: servers may report the usage so far in every chunk. */
static void usage_add(struct completion *completion, const json_t *chunk)
{
    struct completion_usage usage = completion_usage_of(chunk);

    if (usage.prompt >= 0)
        completion->usage.prompt = usage.prompt;
    if (usage.answer >= 0)
        completion->usage.answer = usage.answer;
}

int completion_add(struct completion *completion, json_t *chunk)
{
    json_t *choices = json_object_get(chunk, "choices");

    completion->new_bytes = 0;
    if (!json_is_object(chunk))
        return ASSISTANT_BAD;
    if (completion_is_error(chunk)) {
        completion->has_failed = true;
        return 0;
    }
    usage_add(completion, chunk);
    if (json_array_size(choices) == 0)
        return 0;
    return choice_add(completion, json_array_get(choices, 0));
}

int64_t completion_tokens(int64_t said, size_t bytes, int64_t most)
{
    int64_t least = (int64_t)(bytes / MOST_BYTES_PER_TOKEN);

    if (said >= least && said <= most)
        return said;
    return (int64_t)((bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN);
}
