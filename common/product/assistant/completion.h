#pragma once
/*
 * An answer of a model as it arrives: chunks of chat/completions, put together. What servers say
 * about usage is believed within what their texts make possible; where they say nothing, or lie, it
 * is counted by the bytes. Any thread.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/strbuf.h"

#define COMPLETION_TEXT_BYTES ((size_t)256 * 1024)
#define COMPLETION_BYTES      ((size_t)512 * 1024) /* text and calls of one answer */
#define COMPLETION_CALLS_MAX  16
#define COMPLETION_CALL_BYTES ((size_t)128 * 1024) /* arguments of one call */
#define COMPLETION_WORD_BYTES 64                   /* ids, names, reasons */

/* A tool that the model wants called; its arguments are JSON text as the model wrote it. */
struct completion_call {
    int64_t index; /* as its server numbers it; -1 = it does not */
    struct strbuf id, name, arguments;
};

/* Tokens as the server counts them; -1 = it has not said. */
struct completion_usage {
    int64_t prompt, answer;
};

struct completion {
    struct arena *arena;
    struct strbuf text;
    struct completion_call calls[COMPLETION_CALLS_MAX];
    size_t call_count;
    struct str finish; /* "stop", "length", "tool_calls", ...; STR_NONE = it has not ended */
    struct completion_usage usage;
    bool failed;      /* the server sent an error in place of a chunk */
    size_t new_bytes; /* of text that the last chunk brought */
    size_t bytes;     /* of all that it said: text and calls */
};

/* any */
void completion_init(struct completion *completion, struct arena *arena);
/* any: what follows is another answer, behind the calls of this one: its text goes on. */
void completion_again(struct completion *completion);
/* any: one chunk ("object": "chat.completion.chunk"). 0, or ASSISTANT_BAD: it is none, or the
 * answer grows beyond what one may be. The chunk is changed to what OpenAI's clients put together:
 * completion_message_tidy(), calls are numbered from 0 and have an id, a name comes once. */
int completion_add(struct completion *completion, json_t *chunk) MUSTCHECK;
/* any: a message or the delta of one as OpenAI's clients expect it: content that is a list of parts
 * becomes the text of those that are texts, arguments of calls that are an object become its text.
 */
void completion_message_tidy(struct arena *arena, json_t *message);
/* any: whether an answer or a chunk is an error in place of one. */
bool completion_is_error(const json_t *answer);
/* any: usage of a whole answer that is not streamed; -1 where it says none. */
struct completion_usage completion_usage_of(const json_t *answer);

/* any: tokens that are counted. `said` -1 = nothing; a text of `bytes` makes no more than `most`
 * tokens, of which some may not be seen, and no fewer than one for sixteen bytes. */
int64_t completion_tokens(int64_t said, size_t bytes, int64_t most);
