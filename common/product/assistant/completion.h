#pragma once
/*
 * Joins the chunks of a streamed chat/completions answer. A server's token counts are accepted if
 * they are possible for the length of the text. If they are missing or impossible, tokens are
 * estimated from the number of bytes. Callable from any thread.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/strbuf.h"

#define COMPLETION_TEXT_BYTES ((size_t)256 * 1024)
#define COMPLETION_BYTES      ((size_t)512 * 1024) /* text and call arguments of one answer */
#define COMPLETION_CALLS_MAX  16
#define COMPLETION_CALL_BYTES ((size_t)128 * 1024) /* arguments of one call */
#define COMPLETION_WORD_BYTES 64                   /* of an id, a name or a finish reason */

/* A tool call that the model requests. `arguments` is JSON text as the model wrote it. */
struct completion_call {
    int64_t index; /* the number that the server gave the call; -1 = none */
    struct strbuf id, name, arguments;
};

/* Token counts that the server reports; -1 = not reported. */
struct completion_usage {
    int64_t prompt, answer;
};

struct completion {
    struct arena *arena;
    struct strbuf text;
    struct completion_call calls[COMPLETION_CALLS_MAX];
    size_t call_count;
    struct str finish; /* "stop", "length", "tool_calls", ...; STR_NONE = not finished */
    struct completion_usage usage;
    bool has_failed;  /* the server sent an error in place of a chunk */
    size_t new_bytes; /* length of the text in the last chunk */
    size_t bytes;     /* of the answer: text and call arguments */
};

/* any: Prepares an empty answer. Its text and calls are stored in `arena`. */
void completion_init(struct completion *completion, struct arena *arena);
/* any: Prepares for the model's next answer, after its tool calls were run. The text is kept and
 * grows; calls, finish reason, usage and the byte count start again. */
void completion_continue(struct completion *completion);
/* any: Adds one chunk ("object": "chat.completion.chunk"). Returns 0, or ASSISTANT_BAD when the
 * chunk is not an object or the answer exceeds a limit above. An error object sets `has_failed` and
 * returns 0. The chunk is changed so that OpenAI's clients can join it: completion_message_tidy()
 * is applied, calls are numbered from 0, a call without an id gets one, and a repeated name is
 * removed. */
int completion_add(struct completion *completion, json_t *chunk) MUSTCHECK;
/* any: Changes a message, or the delta of a message, to the form that OpenAI's clients expect. A
 * `content` that is a list of parts becomes one text, without the parts that have no text.
 * `arguments` of calls that are an object become JSON text. */
void completion_message_tidy(struct arena *arena, json_t *message);
/* any: Returns whether the server sent an error in place of an answer or a chunk. */
bool completion_is_error(const json_t *answer);
/* any: Returns the usage in an answer or a chunk; -1 for each count that is missing. */
struct completion_usage completion_usage_of(const json_t *answer);

/* any: Returns the number of tokens to count for a text of `bytes` bytes. `said` is the server's
 * count, -1 if missing. It is accepted if it is at most `most` and at least one token for sixteen
 * bytes; otherwise the result is one token for four bytes. `most` may exceed the bytes: a model may
 * use tokens that do not appear in its text. */
int64_t completion_tokens(int64_t said, size_t bytes, int64_t most);
