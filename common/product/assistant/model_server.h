#pragma once
/*
 * Requests to a model server that speaks OpenAI's protocol, and its streamed answers. A project
 * chooses the server's address, so connections are restricted to the addresses that fetch() allows.
 */
#include <jansson.h>

#include "assistant/event_stream.h"
#include "fetch/fetch_stream.h"

#define MODEL_ANSWER_BYTES     ((size_t)8 << 20) /* of a streamed answer, including its framing */
#define MODEL_UNSTREAMED_BYTES ((size_t)1 << 20) /* of an answer that is not streamed */

struct model_server {
    struct str endpoint; /* without a slash at its end: "https://api.example.com/v1" */
    struct str key;      /* STR_NONE = the server needs none */
    int64_t stall_ms;    /* how long the server may send nothing */
};

/* Members of a request that a server refuses; each is a bit. */
enum model_quirk {
    MODEL_NO_MAX_TOKENS = 1, /* the server takes max_completion_tokens instead */
    MODEL_NO_STREAM_OPTIONS = 2,
};

/* An answer of the server that is not a 2xx. */
struct model_refusal {
    long status;
    struct str message; /* the server's message, cut; STR_NONE = none, or it contains the key */
    unsigned quirks;    /* members that a 400 or 422 names, as bits of enum model_quirk */
};

/* any: Returns whether the server reports a fault of the request itself. */
static inline bool model_is_bad_request(const struct model_refusal *refusal)
{
    return refusal->status == 400 || refusal->status == 422;
}
/* any: Returns the message of an error that the server sent, shortened; STR_NONE if there is none
 * or it contains the key. Borrows from `error`. */
struct str model_error_message(const struct model_server *server, const json_t *error);
/* any: Returns the request without the members that the quirks name: max_tokens is renamed to
 * max_completion_tokens, stream_options is removed. Arena-owned, or `body` itself if there is
 * nothing to change. The time grows with the bytes of the body. */
struct str model_body_without(struct arena *arena, struct str body, unsigned quirks);

/* co: Sends a completion request and waits for status and headers of the answer. Returns 0 for a
 * 2xx, ASSISTANT_REFUSED with *ret_refusal, or a result of fetch_stream.h. *ret_stream and
 * *ret_refusal are owned by the task's arena. */
AWAITS int model_request(struct task *task,
                         const struct model_server *server,
                         struct str body,
                         struct fetch_stream **ret_stream,
                         struct model_refusal *ret_refusal) MUSTCHECK;

/* co: Reads a streamed answer to its end and closes the stream. Calls fn(event, arg) for each event
 * before "[DONE]"; `event` is borrowed for the call, and fn may wait. *ret_done is always set and
 * says whether "[DONE]" arrived: without it the server may have ended the answer early. Returns 0,
 * a result of fn, ASSISTANT_BAD (too long or malformed), or a result of fetch_stream.h. */
AWAITS int model_answer_read(struct task *task,
                             struct fetch_stream *stream,
                             event_stream_fn fn,
                             void *arg,
                             bool *ret_done) MUSTCHECK;

struct model_names {
    struct str *items;
    size_t count;
};
#define MODEL_NAMES_MAX      200
#define MODEL_NAME_BYTES_MAX 200
/* co: Reads the names of the server's models, at most MODEL_NAMES_MAX; longer names than
 * MODEL_NAME_BYTES_MAX are left out. Owned by the task's arena. Returns 0, ASSISTANT_REFUSED with
 * *ret_refusal, ASSISTANT_BAD, a FETCH_*, or a negative. */
AWAITS int model_list(struct task *task,
                      const struct model_server *server,
                      struct model_names *ret_names,
                      struct model_refusal *ret_refusal) MUSTCHECK;
