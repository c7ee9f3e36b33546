/* push_sends.request: what is sent and to whom, and whether a request to a provider is repeated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "push/answer.h"
#include "push/request.h"

static struct arena *arena;
static struct push_request request;
static struct str code;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static int read_text(const char *text)
{
    code = STR_NONE;
    return push_request_read(arena, str_from(text), &request, &code);
}

static void assert_text(struct str text, const char *expected)
{
    assert_true(str_is(text, expected));
}

TEST_WITH(test_message, setup, teardown)
{
    assert_int_equal(
        read_text(
            "{\"title\":\"T\",\"body\":\"B\",\"image_url\":\"https://i\",\"click_action\":\"app://"
            "1\","
            "\"category\":\"order\",\"buttons\":[{\"id\":\"ok\",\"label\":\"OK\",\"click_action\":"
            "\"x\"},"
            "{\"id\":\"no\"}],\"data\":{\"a\":\"1\",\"b\":\"\"},\"audience\":{\"kind\":\"all\"}}"),
        0);
    const struct push_message *message = &request.message;
    assert_text(message->title, "T");
    assert_text(message->body, "B");
    assert_text(message->image_url, "https://i");
    assert_text(message->click_action, "app://1");
    assert_text(message->category, "order");
    assert_int_equal(message->nbuttons, 2);
    assert_text(message->buttons[0].label, "OK");
    assert_text(message->buttons[0].click_action, "x");
    assert_text(message->buttons[1].id, "no");
    assert_int_equal(message->buttons[1].label.len, 0);
    assert_int_equal(message->ndata, 2);
    assert_text(message->data[0].value, "1");
    assert_int_equal(request.audience.kind, PUSH_TO_ALL);
    assert_int_equal(request.audience.provider, 0);
}

#define TO(audience) "{\"title\":\"T\",\"audience\":" audience "}"

TEST_WITH(test_audiences, setup, teardown)
{
    const struct push_audience *to = &request.audience;

    assert_int_equal(read_text(TO("{\"kind\":\"user\",\"user_id\":7,\"provider\":\"fcm\"}")), 0);
    assert_int_equal(to->kind, PUSH_TO_USERS);
    assert_int_equal(to->nusers, 1);
    assert_int_equal(to->users[0], 7);
    assert_int_equal(to->provider, PUSH_FCM);
    assert_int_equal(
        read_text(TO("{\"kind\":\"user\",\"user_id\":\"8\",\"provider\":\"web_push\"}")), 0);
    assert_int_equal(to->users[0], 8);
    assert_int_equal(to->provider, PUSH_WEB);
    assert_int_equal(read_text(TO("{\"kind\":\"users\",\"user_ids\":[1,\"2\",3]}")), 0);
    assert_int_equal(to->nusers, 3);
    assert_int_equal(to->users[1], 2);
    assert_int_equal(read_text(TO("{\"kind\":\"users\",\"user_ids\":[]}")), 0);
    assert_int_equal(to->nusers, 0);
    assert_int_equal(
        read_text(TO("{\"kind\":\"entity\",\"owner_entity_id\":5,\"owner_record_id\":6}")), 0);
    assert_int_equal(to->kind, PUSH_TO_OWNER);
    assert_int_equal(to->owner_entity_id, 5);
    assert_int_equal(to->owner_record_id, 6);
    /* as a workflow step writes the target */
    assert_int_equal(
        read_text(TO("{\"kind\":\"entity\",\"owner_entity_name\":\"cars\",\"owner_entity_id\":6}")),
        0);
    assert_int_equal(to->owner_entity_id, 0);
    assert_text(to->owner_entity_name, "cars");
    assert_int_equal(to->owner_record_id, 6);
}

TEST_WITH(test_bad, setup, teardown)
{
    static const struct {
        const char *text, *code;
    } cases[] = {
        {"", "INVALID_REQUEST"},
        {"[]", "INVALID_REQUEST"},
        {"{\"audience\":{\"kind\":\"all\"}}", "NO_TEXT"},
        {"{\"title\":\"T\"}", "INVALID_AUDIENCE"},
        {TO("{\"kind\":\"All\"}"), "INVALID_AUDIENCE"},
        {TO("{\"kind\":\"all\",\"provider\":\"apns\"}"), "INVALID_AUDIENCE"},
        {TO("{\"kind\":\"user\"}"), "INVALID_AUDIENCE"},
        {TO("{\"kind\":\"user\",\"user_id\":0}"), "INVALID_AUDIENCE"},
        {TO("{\"kind\":\"user\",\"user_id\":\"1x\"}"), "INVALID_AUDIENCE"},
        {TO("{\"kind\":\"users\",\"user_ids\":[1,null]}"), "INVALID_AUDIENCE"},
        {TO("{\"kind\":\"entity\",\"owner_entity_id\":5}"), "INVALID_AUDIENCE"},
        {"{\"title\":\"T\",\"audience\":{\"kind\":\"all\"},\"data\":{\"a\":1}}", "INVALID_DATA"},
        {"{\"title\":\"T\",\"audience\":{\"kind\":\"all\"},\"data\":{\"gcm.x\":\"1\"}}",
         "INVALID_DATA"},
        {"{\"title\":\"T\",\"audience\":{\"kind\":\"all\"},\"buttons\":[{}]}", "INVALID_BUTTONS"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(read_text(cases[i].text), PUSH_REQUEST_BAD);
        assert_text(code, cases[i].code);
    }
}

TEST(test_providers)
{
    assert_int_equal(push_provider_find(STR("fcm")), PUSH_FCM);
    assert_int_equal(push_provider_find(STR("web_push")), PUSH_WEB);
    assert_int_equal(push_provider_find(STR("")), 0);
    assert_string_equal(push_provider_name(PUSH_WEB), "web_push");
}

TEST(test_pauses)
{
    static const struct push_backoff backoff = {.first_ms = 1000, .over_rate_ms = 60000};
    struct push_answer answer = {.outcome = PUSH_RETRY, .retry_after_ms = -1};
    struct push_attempts tries = {
        .request_count = 1, .retries = PUSH_FCM_RETRIES, .left_ms = 300000};

    assert_in_range(push_pause_ms(&answer, &backoff, &tries, 0), 1000, 1500);
    tries.request_count = 3;
    assert_in_range(push_pause_ms(&answer, &backoff, &tries, 0), 4000, 6000);
    tries.request_count = 4;
    assert_int_equal(push_pause_ms(&answer, &backoff, &tries, 0), -1);
    /* the pause that the provider requests, unless it is longer than the time that is left */
    tries.request_count = 1;
    answer.retry_after_ms = 200000;
    assert_in_range(push_pause_ms(&answer, &backoff, &tries, 0), 200000, 300000);
    tries.left_ms = 100000;
    assert_int_equal(push_pause_ms(&answer, &backoff, &tries, 0), -1);
    for (enum push_outcome outcome = PUSH_DELIVERED; outcome <= PUSH_RENEW; outcome++) {
        answer = (struct push_answer){.outcome = outcome, .retry_after_ms = -1};
        assert_true((push_pause_ms(&answer, &backoff, &tries, 0) < 0) == (outcome != PUSH_RETRY));
    }
}
