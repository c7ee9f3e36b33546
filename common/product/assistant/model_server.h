#pragma once
/*
 * A model server that speaks OpenAI's protocol: requests to it, and its answers as they come. It
 * stands at an address of a project's choice, so it is dialled as fetch() dials.
 */
#include <jansson.h>

#include "assistant/event_stream.h"
#include "fetch/fetch_stream.h"

#define MODEL_ANSWER_BYTES ((size_t)8 << 20) /* of a streamed answer, with all that frames it */
#define MODEL_WHOLE_BYTES  ((size_t)1 << 20) /* of one that comes as a whole */

struct model_server {
    struct str endpoint; /* without a slash at its end: "https://api.example.com/v1" */
    struct str key;      /* STR_NONE = it wants none */
    int64_t stall_ms;    /* so long it may say nothing */
};

/* Members of a request that a server refuses; each is a bit. */
enum model_quirk {
    MODEL_NO_MAX_TOKENS = 1, /* it takes max_completion_tokens instead */
    MODEL_NO_STREAM_OPTIONS = 2,
};

/* Why it said no. */
struct model_refusal {
    long status;
    struct str message; /* its own words, cut; STR_NONE = none, or they tell the key */
    unsigned quirks;    /* that a 400 or 422 names */
};

/* any: whether the server finds fault with the request itself. */
static inline bool model_is_bad_request(const struct model_refusal *refusal)
{
    return refusal->status == 400 || refusal->status == 422;
}
/* any: the words of an error that the server sent, cut; STR_NONE = none, or they tell the key.
 * Borrows the error. */
struct str model_error_words(const struct model_server *server, const json_t *error);
/* any: a request without the members that the quirks refuse; `body` itself where it has none of
 * them. Takes as long as the body has bytes. */
struct str model_body_without(struct arena *arena, struct str body, unsigned quirks);

/* co: sends a request for a completion and waits for the head of the answer. 0 with a 2xx,
 * ASSISTANT_REFUSED with the refusal, or what fetch_stream.h says. Arena-owned. */
AWAITS int model_ask(struct task *task,
                     const struct model_server *server,
                     struct str body,
                     struct fetch_stream **ret_stream,
                     struct model_refusal *ret_refusal) MUSTCHECK;

/* co: reads a streamed answer to its end: fn(event, arg) for each event but the last, which says
 * that it is the last (*ret_done; false: the server has left before). `event` is borrowed for the
 * call; fn may await. Its results: fn's, ASSISTANT_BAD, or what fetch_stream.h says. */
AWAITS int model_read(struct task *task,
                      struct fetch_stream *stream,
                      event_stream_fn fn,
                      void *arg,
                      bool *ret_done) MUSTCHECK;

/* co: the models that it has. ASSISTANT_REFUSED with the refusal, ASSISTANT_BAD, or a FETCH_*. */
struct model_names {
    struct str *items;
    size_t count;
};
#define MODEL_NAMES_MAX      200
#define MODEL_NAME_BYTES_MAX 200
AWAITS int model_list(struct task *task,
                      const struct model_server *server,
                      struct model_names *ret_names,
                      struct model_refusal *ret_refusal) MUSTCHECK;
