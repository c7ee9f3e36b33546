/* Reads the answers of push providers. */
#include "push/answer.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "fetch/fetch.h"
#include "json/jr.h"

#define FCM_ERROR_TYPE "type.googleapis.com/google.firebase.fcm.v1.FcmError"

enum { RETRY_AFTER_S_MAX = 86400, DOUBLINGS_MAX = 16 };

/* --- Retry-After --- */

/* Parses "Sun, 06 Nov 1994 08:49:37 GMT", the only form that may be sent (RFC 9110 section
 * 5.6.7). */
static bool http_date_parse(struct str text, int64_t *ret_ms)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    enum { DATE_BYTES = 29, DAY = 5, MONTH = 8, YEAR = 12, TIME = 17 };
    char iso[CLOCK_TEXT_BYTES];

    if (text.len != DATE_BYTES || !str_ends(text, STR(" GMT")) || text.ptr[3] != ',')
        return false;
    for (int month = 0; month < 12; month++) {
        if (memcmp(text.ptr + MONTH, months + (size_t)3 * (size_t)month, 3) != 0)
            continue;
        int bytes = snprintf(iso,
                             sizeof(iso),
                             "%.4s-%02d-%.2sT%.8sZ",
                             text.ptr + YEAR,
                             month + 1,
                             text.ptr + DAY,
                             text.ptr + TIME);
        return clock_parse((struct str){iso, (size_t)bytes}, ret_ms);
    }
    return false;
}

int64_t push_retry_after_ms(struct str header, int64_t now_ms)
{
    const int64_t most = (int64_t)RETRY_AFTER_S_MAX * 1000;
    int64_t value = 0;
    struct str text = str_trim(header);

    if (num_parse_i64(text, &value)) {
        if (value < 0)
            return -1;
        return value > RETRY_AFTER_S_MAX ? most : value * 1000;
    }
    if (!http_date_parse(text, &value))
        return -1;
    if (value <= now_ms)
        return 0;
    return value - now_ms > most ? most : value - now_ms;
}

int64_t push_retry_ms(const struct push_answer *answer,
                      const struct push_backoff *backoff,
                      unsigned repetition,
                      uint64_t random)
{
    unsigned doublings = repetition > 0 ? repetition - 1 : 0;
    int64_t wait_ms = answer->is_rate_limited ? backoff->over_rate_ms : backoff->first_ms;

    wait_ms *= INT64_C(1) << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX);
    if (answer->retry_after_ms >= 0)
        wait_ms = answer->retry_after_ms;
    return wait_ms + (int64_t)(random % ((uint64_t)wait_ms / 2 + 1));
}

/* --- codes --- */

static bool is_code(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && c != '_' && c != '-' && c != '.')
            return false;
    }
    return text.len > 0 && text.len <= PUSH_CODE_MAX;
}

struct str push_code(struct arena *arena, struct str text, long status)
{
    return is_code(text) ? text : arena_printf(arena, "HTTP_%ld", status);
}

static struct push_answer push_answer_new(enum push_outcome outcome, struct str code)
{
    return (struct push_answer){.outcome = outcome, .code = code, .retry_after_ms = -1};
}

static bool is_success(long status)
{
    return status >= 200 && status < 300;
}

/* --- FCM --- */

/* Returns errorCode of FCM's own entry in details[], else error.status. STR_NONE when the body is
 * not FCM's. */
static struct str fcm_code(const json_t *error)
{
    const json_t *details = json_object_get(error, "details");

    for (size_t i = 0; i < json_array_size(details); i++) {
        const json_t *detail = json_array_get(details, i);
        if (str_is(jr_str(detail, "@type"), FCM_ERROR_TYPE) && jr_str(detail, "errorCode").len > 0)
            return jr_str(detail, "errorCode");
    }
    return jr_str(error, "status");
}

static enum push_outcome fcm_outcome(long status, struct str code)
{
    if (status == 429 || status >= 500)
        return PUSH_RETRY;
    /* Only FCM's own code unregisters: a proxy's 404 must not end every device of a project. */
    if (status == 404 && (str_is(code, "UNREGISTERED") || str_is(code, "NOT_FOUND")))
        return PUSH_UNREGISTERED;
    /* THIRD_PARTY_AUTH_ERROR is a 401 as well: the keys in that Firebase project are wrong, not our
     * access token. */
    if (status == 401 && (code.len == 0 || str_is(code, "UNAUTHENTICATED")))
        return PUSH_RENEW;
    return PUSH_FAILED;
}

struct push_answer fcm_answer_read(
    struct arena *arena, long status, struct str retry_after, struct str body, int64_t now_ms)
{
    struct jr_error ignored;
    json_t *root = NULL;

    if (jr_parse_external(arena, body, &root, &ignored) != 0)
        root = NULL;
    if (is_success(status)) /* a 200 without FCM's `name` delivers nothing */
        return jr_str(root, "name").len > 0 ? push_answer_new(PUSH_DELIVERED, STR_NONE)
                                            : push_answer_new(PUSH_FAILED, STR("INVALID_ANSWER"));
    const json_t *error = json_object_get(root, "error");
    struct str code = fcm_code(error);
    struct push_answer answer =
        push_answer_new(fcm_outcome(status, code), push_code(arena, code, status));
    answer.detail = utf8_cut(utf8_clean(arena, jr_str(error, "message")), PUSH_DETAIL_MAX);
    answer.retry_after_ms = push_retry_after_ms(retry_after, now_ms);
    answer.is_rate_limited = status == 429;
    return answer;
}

/* --- web push --- */

static enum push_outcome webpush_outcome(long status)
{
    if (is_success(status))
        return PUSH_DELIVERED;
    if (status == 404 || status == 410)
        return PUSH_UNREGISTERED;
    return status == 429 || status >= 500 ? PUSH_RETRY : PUSH_FAILED;
}

struct push_answer
webpush_answer_read(struct arena *arena, long status, struct str retry_after, int64_t now_ms)
{
    enum push_outcome outcome = webpush_outcome(status);
    struct push_answer answer = push_answer_new(
        outcome, outcome == PUSH_DELIVERED ? STR_NONE : push_code(arena, STR_NONE, status));

    answer.retry_after_ms = push_retry_after_ms(retry_after, now_ms);
    answer.is_rate_limited = status == 429;
    return answer;
}

/* --- no answer --- */

struct push_answer push_answer_from_fetch(int result)
{
    switch (result) {
    case FETCH_UNREACHABLE:
        return push_answer_new(PUSH_RETRY, STR("UNREACHABLE"));
    case FETCH_TIMEOUT:
        return push_answer_new(PUSH_RETRY, STR("TIMEOUT"));
    case FETCH_BUSY:
        return push_answer_new(PUSH_RETRY, STR("BUSY"));
    case FETCH_REFUSED:
        /* Same code as FETCH_UNREACHABLE: two codes would make us a port scanner (fetch.h). */
        return push_answer_new(PUSH_FAILED, STR("UNREACHABLE"));
    case FETCH_TOO_LARGE:
        return push_answer_new(PUSH_FAILED, STR("TOO_LARGE_ANSWER"));
    case FETCH_BAD_URL:
    case FETCH_BAD_HEADER:
        return push_answer_new(PUSH_FAILED, STR("INVALID_REQUEST"));
    default:
        PANIC("no result of fetch(): %d", result);
    }
}

int64_t push_pause_ms(const struct push_answer *answer,
                      const struct push_backoff *backoff,
                      const struct push_attempts *tries,
                      uint64_t random)
{
    if (answer->outcome != PUSH_RETRY || tries->request_count > tries->retries)
        return -1;
    int64_t pause_ms = push_retry_ms(answer, backoff, tries->request_count, random);
    return pause_ms < tries->left_ms ? pause_ms : -1;
}
