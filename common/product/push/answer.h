#pragma once
/*
 * What became of one request to a push provider: answers of FCM and of web push services, and
 * requests without one, as the few outcomes that a dispatcher acts on. Pure; any thread, one arena
 * each.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define PUSH_CODE_MAX   64
#define PUSH_DETAIL_MAX 200
/* Repetitions after the first request. */
#define PUSH_FCM_RETRIES     3
#define PUSH_WEBPUSH_RETRIES 1

enum push_outcome {
    PUSH_DELIVERED,
    PUSH_UNREGISTERED, /* the device's token is dead: mark the device, the send has not failed */
    PUSH_FAILED,       /* for good */
    PUSH_RETRY,        /* after push_retry_ms() */
    PUSH_RENEW,        /* our access token is not accepted: a new one, then once again */
};

struct push_answer {
    enum push_outcome outcome;
    struct str code;   /* "UNREGISTERED", "HTTP_413", "TIMEOUT"; empty when delivered */
    struct str detail; /* the provider's words, cut; may be empty. For the operator's log only */
    int64_t retry_after_ms; /* what the provider asks for; -1: nothing */
    bool over_rate;         /* 429: without Retry-After it is a minute rather than a second */
};

/* An answer to messages:send. `retry_after`: that header's value, may be STR_NONE; `now_ms`: wall
 * clock. Texts are arena-owned or literals. */
struct push_answer fcm_answer_read(
    struct arena *arena, long status, struct str retry_after, struct str body, int64_t now_ms);
/* An answer of a web push service; the body says nothing that is acted on. */
struct push_answer
webpush_answer_read(struct arena *arena, long status, struct str retry_after, int64_t now_ms);
/* No answer: a positive result of fetch(). */
struct push_answer push_answer_of_fetch(int result);

/* `text` when it is a word that can stand in a row and a log (letters, digits, '_', '-', '.', at
 * most PUSH_CODE_MAX), else "HTTP_<status>". */
struct str push_code(struct arena *arena, struct str text, long status);

/* Retry-After (RFC 9110 section 10.2.3): seconds or an HTTP date. -1 when it is neither; a time
 * that has passed is 0; at most a day. */
int64_t push_retry_after_ms(struct str header, int64_t now_ms);

struct push_backoff {
    int64_t first_ms;     /* before the first repetition, doubled for each further: 1,000 */
    int64_t over_rate_ms; /* the same after a 429: 60,000 */
};
/* How long to wait before repetition number `repetition`, counted from 1: what the provider asks
 * for, else the backoff; and up to half of it more, by `random` (rand_u64()), so that what failed
 * together does not come back together. */
int64_t push_retry_ms(const struct push_answer *answer,
                      const struct push_backoff *backoff,
                      unsigned repetition,
                      uint64_t random);

/* How often a device's request was made, and what is left. */
struct push_tries {
    unsigned done;    /* from 1 */
    unsigned retries; /* PUSH_FCM_RETRIES, PUSH_WEBPUSH_RETRIES */
    int64_t left_ms;  /* of the time that a device may take */
};
/* How long to wait before the request is made once more; -1: it is not, the answer is final. */
int64_t push_pause_ms(const struct push_answer *answer,
                      const struct push_backoff *backoff,
                      const struct push_tries *tries,
                      uint64_t random);
