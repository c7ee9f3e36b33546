/*
 * Subscriptions, which are user input: a message can be encrypted for each accepted subscription,
 * its origin is stable, and a subscription with keys in canonical form is equal.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/codec.h"
#include "base/panic.h"
#include "push/webpush_encrypt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct arena *arena, const struct webpush_subscription *found)
{
    static struct webpush_body body;
    struct webpush_subscription again;
    struct str origin;
    struct str bytes = {(const char *)found->point, sizeof(found->point)};
    struct str auth = {(const char *)found->auth, sizeof(found->auth)};

    MUST(found->endpoint.len <= WEBPUSH_ENDPOINT_MAX);
    MUST(webpush_origin(arena, found->origin, &origin) == 0 && str_eq(origin, found->origin));
    MUST(str_starts(found->origin, found->secure ? STR("https://") : STR("http://")));
    MUST(webpush_encrypt(found, STR("text"), 3, &body) == 0);
    MUST(body.len == WEBPUSH_OVERHEAD_BYTES + 4 + 3);
    struct str json =
        arena_printf(arena,
                     "{\"endpoint\":\"%.*s\",\"keys\":{\"p256dh\":\"%.*s\",\"auth\":\"%.*s\"}}",
                     STR_ARG(found->origin),
                     STR_ARG(codec_b64url(arena, bytes)),
                     STR_ARG(codec_b64url(arena, auth)));
    MUST(webpush_subscription_read(arena, json, &again) == 0);
    MUST(memcmp(again.point, found->point, sizeof(again.point)) == 0);
    MUST(memcmp(again.auth, found->auth, sizeof(again.auth)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct webpush_subscription found;
    struct str origin;
    struct str text = {(const char *)data, size};

    if (webpush_subscription_read(arena, text, &found) == 0)
        check(arena, &found);
    if (webpush_origin(arena, text, &origin) == 0)
        MUST(origin.len <= text.len);
    arena_free(arena);
    return 0;
}
