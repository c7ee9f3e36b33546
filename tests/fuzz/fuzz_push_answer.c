/*
 * Answers of providers: "status\nRetry-After\nbody". For any answer, codes are words, delays are
 * bounded, only FCM's own code unregisters a device, and an accepted token is valid in a header.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/num.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "push/answer.h"
#include "push/fcm_account.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS INT64_C(1760000000000)
#define DAY_MS INT64_C(86400000)

static void check(const struct push_answer *answer, long status)
{
    static const struct push_backoff backoff = {.first_ms = 1000, .over_rate_ms = 60000};

    MUST(answer->code.len <= PUSH_CODE_MAX);
    MUST((answer->code.len == 0) == (answer->outcome == PUSH_DELIVERED));
    MUST(answer->outcome != PUSH_DELIVERED || (status >= 200 && status < 300));
    MUST(answer->outcome != PUSH_RETRY || status == 429 || status >= 500);
    MUST(answer->retry_after_ms >= -1 && answer->retry_after_ms <= DAY_MS);
    for (unsigned i = 1; i < 20; i++) {
        int64_t wait_ms = push_retry_ms(answer, &backoff, i, UINT64_MAX);
        MUST(wait_ms >= 0 && (answer->retry_after_ms < 0 || wait_ms <= DAY_MS * 3 / 2));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str body = {(const char *)data, size};
    struct str status_text = str_split(&body, '\n');
    struct str retry_after = body.ptr ? str_split(&body, '\n') : STR_NONE;
    struct fcm_account account;
    struct fcm_token token;
    struct str code = STR_NONE;
    int64_t status = 200;

    if (!num_parse_i64(status_text, &status) || status < 100 || status > 599)
        status = 200;
    struct push_answer answer = fcm_answer_read(arena, (long)status, retry_after, body, NOW_MS);
    check(&answer, (long)status);
    MUST(answer.outcome != PUSH_UNREGISTERED || status == 404);
    /* three bytes for each byte that was not UTF-8 */
    MUST(utf8_valid(answer.detail) && answer.detail.len <= (size_t)3 * PUSH_DETAIL_MAX);
    answer = webpush_answer_read(arena, (long)status, retry_after, NOW_MS);
    check(&answer, (long)status);

    if (fcm_token_read(arena, (long)status, body, NOW_MS, &token, &code) == 0) {
        MUST(token.expires_ms > NOW_MS && token.expires_ms <= NOW_MS + DAY_MS);
        for (size_t i = 0; i < token.authorization.len; i++)
            MUST(token.authorization.ptr[i] >= ' ' && token.authorization.ptr[i] <= '~');
    } else {
        MUST(code.len > 0 && code.len <= PUSH_CODE_MAX);
    }
    /* the fuzzer cannot guess a key: parsing ends at the key */
    MUST(fcm_account_read(arena, body, &account) != 0 || account.key);
    arena_free(arena);
    return 0;
}
