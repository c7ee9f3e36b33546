/*
 * Notifications of the app store. The first byte says what the rest is:
 *   b  the raw body of a request
 *   h  the header of a JWS, signed by the store's leaf around a good payload
 *   l  the DER of a leaf, i of an intermediate, in a chain that is good otherwise
 *   p  a payload, t a transaction inside, r a renewal inside, signed by a good chain
 *   d  a stored document
 *   f  facts: one JSON object per line, each a row of history
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/store_chain.h"
#include "json/jr.h"
#include "payments/store.h"
#include "payments/store_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_S  1800000000LL
#define NOW_MS (NOW_S * 1000)
#define BUNDLE "com.example.app"

enum { FACTS_MAX = 64 };

static struct arena *made; /* data that lives as long as the process */
static struct chain *chain;
static struct x5c_anchors *anchors;

static const struct store_account account = {
    .bundle_id = STR_INIT(BUNDLE),
    .app_apple_id = 7,
    .environments = STORE_PRODUCTION | STORE_SANDBOX,
    .configured = true,
};

static void prepare(void)
{
    if (made)
        return;
    made = arena_new(0);
    chain = chain_new(made, NOW_S, &(struct chain_wish){0});
    MUST(x5c_anchors_from_pem(chain->pem, &anchors) == 0);
    store_init(&(struct store_config){.anchors = anchors});
}

/* --- accepted notifications --- */

/* Any facts give a known state, and the same state in any order. */
static void check_facts(struct arena *arena, struct store_fact *facts, size_t count)
{
    struct store_state state = {0};

    for (size_t i = 0; i < count; i++)
        for (size_t k = i; k > 0 && store_fact_order(&facts[k], &facts[k - 1]) < 0; k--) {
            struct store_fact held = facts[k];
            facts[k] = facts[k - 1];
            facts[k - 1] = held;
        }
    for (size_t i = 0; i < count; i++) {
        struct str text = store_fact_print(arena, &facts[i]);
        struct store_fact again;
        struct jr_error error;
        json_t *detail;

        store_state_add(&state, &facts[i]);
        MUST(store_state_status(&state) && state.store_status);
        MUST((state.ended_ms != 0) == (strcmp(state.store_status, "expired") == 0 ||
                                       strcmp(state.store_status, "revoked") == 0));
        /* The history stores all of the text. */
        MUST(jr_parse(arena, text, &detail, &error) == 0);
        store_fact_parse(detail, &again);
        MUST(str_eq(store_fact_print(arena, &again), text));
    }
}

static void check_document(struct arena *arena, struct str text)
{
    struct store_document document;

    if (store_document_read(arena, text, &document) != 0)
        return;
    MUST(document.fact.type.len && document.fact.signed_ms > 0);
    MUST(document.kind != STORE_KIND_SUBSCRIPTION || document.original_id.len);
    MUST(document.kind != STORE_KIND_PURCHASE || document.fact.transaction_id.len);
    if (document.kind == STORE_KIND_SUBSCRIPTION)
        check_facts(arena, &document.fact, 1);
    (void)store_account_user(document.fact.account_token);
    MUST(store_currency(arena, document.fact.currency).len == 3);
    (void)store_minor(document.fact.price_milli / 2, document.fact.currency);
}

/* *ret_taken: whether the notification passed. */
static void check_body(struct arena *arena, struct str body, bool *ret_taken)
{
    struct store_notification got = {0};
    struct str reason = STR_NONE;
    int rc = store_notification_read(arena, body, &account, NOW_MS, &got, &reason);

    *ret_taken = rc == 0;
    if (rc != 0) {
        MUST(reason.len > 0);
        return;
    }
    MUST(got.type.len && got.uuid.len && got.document.len);
    MUST(str_is(got.environment, "Production") || str_is(got.environment, "Sandbox"));
    MUST(got.signed_ms <= NOW_MS + 300000 && got.signed_ms >= NOW_MS - STORE_MAX_AGE_MS);
    check_document(arena, got.document);
}

static struct str body_of(struct arena *arena, struct str token)
{
    return arena_printf(arena, "{\"signedPayload\":\"%.*s\"}", STR_ARG(token));
}

/* --- requests --- */

static struct str notification(struct arena *arena, struct str data)
{
    return arena_printf(
        arena,
        "{\"notificationType\":\"DID_RENEW\",\"notificationUUID\":\"u\",\"signedDate\":%lld,"
        "\"data\":{\"environment\":\"Sandbox\",\"bundleId\":\"" BUNDLE "\"%.*s}}",
        (long long)NOW_MS,
        STR_ARG(data));
}

static struct str inside(struct arena *arena, const char *member, struct str text)
{
    return arena_printf(arena, ",\"%s\":\"%.*s\"", member, STR_ARG(chain_sign(arena, chain, text)));
}

/* Replaces one certificate of the chain: only the original certificate passes. */
static void check_certificate(struct arena *arena, size_t place, struct str der)
{
    struct chain other = *chain;
    bool taken;

    other.x5c[place] = codec_b64(arena, der);
    struct str payload = notification(arena, STR_NONE);
    struct str token = chain_sign_as(arena, chain->signer, chain_header(arena, &other), payload);
    check_body(arena, body_of(arena, token), &taken);
    MUST(taken == str_eq(other.x5c[place], chain->x5c[place]));
}

static void check_history(struct arena *arena, struct str text)
{
    struct store_fact *facts = ARENA_ARRAY(arena, facts, FACTS_MAX);
    struct jr_error error;
    size_t count = 0;
    json_t *detail;

    while (text.ptr && count < FACTS_MAX) {
        struct str line = str_split(&text, '\n');
        if (jr_parse(arena, line, &detail, &error) != 0)
            continue;
        store_fact_parse(detail, &facts[count]);
        facts[count].event_id = arena_printf(arena, "Sandbox:%zu", count);
        facts[count].signed_ms = 1 + (jr_i64(detail, "at", (int64_t)count) & 0xffffffff);
        count++;
    }
    check_facts(arena, facts, count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data + 1, size ? size - 1 : 0};
    struct arena *arena;
    bool taken;

    prepare();
    if (size == 0)
        return 0;
    arena = arena_new(0);
    switch (data[0]) {
    case 'b':
        check_body(arena, text, &taken);
        MUST(!taken); /* the fuzzer cannot make valid signatures */
        break;
    case 'h':
        check_body(
            arena,
            body_of(arena,
                    chain_sign_as(arena, chain->signer, text, notification(arena, STR_NONE))),
            &taken);
        break;
    case 'l':
    case 'i':
        check_certificate(arena, data[0] == 'i', text);
        break;
    case 'p':
        check_body(arena, body_of(arena, chain_sign(arena, chain, text)), &taken);
        break;
    case 't':
    case 'r':
        text = inside(arena, data[0] == 't' ? "signedTransactionInfo" : "signedRenewalInfo", text);
        check_body(
            arena, body_of(arena, chain_sign(arena, chain, notification(arena, text))), &taken);
        break;
    case 'd':
        check_document(arena, text);
        break;
    case 'f':
        check_history(arena, text);
        break;
    default:
        break;
    }
    arena_free(arena);
    return 0;
}
