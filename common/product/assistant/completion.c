/* Chunks become an answer. */
#include "assistant/completion.h"

#include "json/jr.h"

#define BYTES_PER_TOKEN      4
#define MOST_BYTES_PER_TOKEN 16

void completion_init(struct completion *completion, struct arena *arena)
{
    *completion = (struct completion){.arena = arena, .usage = {-1, -1}};
    strbuf_init(&completion->text, arena, COMPLETION_TEXT_BYTES);
}

void completion_again(struct completion *completion)
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

/* --- tool calls --- */

/* The call that a part belongs to: servers count them from 0, some leave the number out and name
 * each with its first part. */
static struct completion_call *call_of(struct completion *completion, const json_t *part)
{
    size_t last = completion->call_count > 0 ? completion->call_count - 1 : 0;
    bool named = jr_str(part, "id").len > 0;
    int64_t index = jr_i64(part, "index", (int64_t)(named ? completion->call_count : last));

    if (index < 0 || index > (int64_t)completion->call_count || index >= COMPLETION_CALLS_MAX)
        return NULL;
    struct completion_call *call = &completion->calls[index];
    if (index == (int64_t)completion->call_count) {
        completion->call_count++;
        strbuf_init(&call->id, completion->arena, COMPLETION_WORD_BYTES);
        strbuf_init(&call->name, completion->arena, COMPLETION_WORD_BYTES);
        strbuf_init(&call->arguments, completion->arena, COMPLETION_CALL_BYTES);
    }
    return call;
}

/* An id comes once; names and arguments may come in parts. */
static int call_add(struct completion *completion, const json_t *part)
{
    struct completion_call *call = call_of(completion, part);
    const json_t *function = json_object_get(part, "function");
    struct str arguments = jr_str(function, "arguments");

    if (call == NULL)
        return ASSISTANT_BAD;
    if (call->id.len == 0)
        strbuf_str(&call->id, jr_str(part, "id"));
    strbuf_str(&call->name, jr_str(function, "name"));
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
    const json_t *delta = json_object_get(choice, "delta");
    struct str text = jr_str(delta, "content");
    struct str finish = jr_str(choice, "finish_reason");

    strbuf_str(&completion->text, text);
    completion->new_bytes = text.len;
    completion->bytes += text.len;
    if (finish.len > 0 && finish.len <= COMPLETION_WORD_BYTES)
        completion->finish = arena_dup(completion->arena, finish);
    TRY(calls_add(completion, json_object_get(delta, "tool_calls")));
    return completion->text.overflow || completion->bytes > COMPLETION_BYTES ? ASSISTANT_BAD : 0;
}

/* Some say with every chunk what they have used so far: the last word counts. */
static void usage_add(struct completion *completion, const json_t *chunk)
{
    struct completion_usage usage = completion_usage_of(chunk);

    if (usage.prompt >= 0)
        completion->usage.prompt = usage.prompt;
    if (usage.answer >= 0)
        completion->usage.answer = usage.answer;
}

int completion_add(struct completion *completion, const json_t *chunk)
{
    const json_t *choices = json_object_get(chunk, "choices");

    completion->new_bytes = 0;
    if (!json_is_object(chunk))
        return ASSISTANT_BAD;
    if (json_is_object(json_object_get(chunk, "error"))) {
        completion->failed = true;
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
