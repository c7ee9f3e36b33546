/*
 * Tokens of taps: "category\ntoken". Only tokens that this file signed pass, and only for the send,
 * project and category of the signature.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/panic.h"
#include "push/tap_token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS INT64_C(1760000000000)

static const struct aead_key key = {.bytes = {1, 2, 3}, .id = 0x41414141};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str token = {(const char *)data, size};
    struct tap tap = {.project = 7, .category = str_split(&token, '\n'), .send = 42};
    int64_t send = 0;

    struct str ours = tap_token_sign(arena, &key, &tap, NOW_MS);
    int rc = tap_token_verify(arena, &key, 1, &tap, token, NOW_MS, &send);
    MUST(rc != 0 || (str_eq(ours, token) && send == 42));
    rc = tap_token_verify(arena, &key, 1, &tap, ours, NOW_MS, &send);
    MUST(rc == (tap.category.len > 0 ? 0 : TAP_TOKEN_BAD));
    tap.project = 8;
    MUST(tap_token_verify(arena, &key, 1, &tap, ours, NOW_MS, &send) == TAP_TOKEN_BAD);
    arena_free(arena);
    return 0;
}
