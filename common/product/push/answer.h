#pragma once
/*
 * The outcome of one request to a push provider: converts answers of FCM and of web push services,
 * and requests without an answer, into the few outcomes that a dispatcher acts on. Pure; any
 * thread, one arena each.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define PUSH_CODE_MAX   64
#define PUSH_DETAIL_MAX 200
/* Retries after the first request. */
#define PUSH_FCM_RETRIES     3
#define PUSH_WEBPUSH_RETRIES 1

enum push_outcome {
    PUSH_DELIVERED,
    PUSH_UNREGISTERED, /* the token is no longer valid: mark the device; the send has not failed */
    PUSH_FAILED,       /* permanently */
    PUSH_RETRY,        /* try again after push_retry_ms() */
    PUSH_RENEW,        /* our access token is refused: get a new token, then try once more */
};

struct push_answer {
    enum push_outcome outcome;
    struct str code;        /* "UNREGISTERED", "HTTP_413", "TIMEOUT"; empty when delivered */
    struct str detail;      /* provider's message, cut; may be empty; only for the operator's log */
    int64_t retry_after_ms; /* pause that the provider asks for; -1 = none */
    bool is_rate_limited;   /* 429: without Retry-After the pause is over_rate_ms, not first_ms */
};

/* Reads FCM's answer to messages:send. `retry_after`: value of the header Retry-After, may be
 * STR_NONE; `now_ms`: wall clock. Texts are arena-owned or literals. */
struct push_answer fcm_answer_read(
    struct arena *arena, long status, struct str retry_after, struct str body, int64_t now_ms);
/* Reads the answer of a web push service; its body is not needed. */
struct push_answer
webpush_answer_read(struct arena *arena, long status, struct str retry_after, int64_t now_ms);
/* Converts the outcome of a request that got no answer. `result`: a positive result of fetch(). */
struct push_answer push_answer_from_fetch(int result);

/* Returns `text` when it is fit for a row and a log (letters, digits, '_', '-', '.', at most
 * PUSH_CODE_MAX), else "HTTP_<status>", arena-owned. */
struct str push_code(struct arena *arena, struct str text, long status);

/* Reads Retry-After (RFC 9110 section 10.2.3), which has seconds or an HTTP date. Returns the pause
 * from `now_ms`, at most a day; 0 for a time in the past; -1 when the header has neither. */
int64_t push_retry_after_ms(struct str header, int64_t now_ms);

struct push_backoff {
    int64_t first_ms;     /* before the first retry, doubled for each further retry: 1,000 */
    int64_t over_rate_ms; /* the same after a 429: 60,000 */
};
/* Returns the pause before retry number `repetition`, counted from 1: what the provider asks for,
 * else the backoff. Adds up to half of the pause, by `random` (rand_u64()), so that requests that
 * failed together are not repeated together. */
int64_t push_retry_ms(const struct push_answer *answer,
                      const struct push_backoff *backoff,
                      unsigned repetition,
                      uint64_t random);

/* The requests already made for a device, and what is left. */
struct push_attempts {
    unsigned request_count; /* requests made, at least 1 */
    unsigned retries;       /* PUSH_FCM_RETRIES or PUSH_WEBPUSH_RETRIES */
    int64_t left_ms;        /* rest of the time that a device may take */
};
/* Returns the pause before the request is repeated; -1 = no retry: the outcome is not PUSH_RETRY,
 * no retry is left, or the pause is not shorter than left_ms. */
int64_t push_pause_ms(const struct push_answer *answer,
                      const struct push_backoff *backoff,
                      const struct push_attempts *tries,
                      uint64_t random);
