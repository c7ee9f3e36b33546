/* Definitions: documents as the README shows them, their links, their stored form, and the
 * model. */
#include "unit.h"

#include "workflow_definition.h"

/* --- valid definitions --- */

TEST_WITH(test_example, set_up, tear_down)
{
    parse_ok(STR(
        "{\"name\":\"Welcome\",\"enabled\":true,\"trigger\":{\"kind\":\"event\","
        "\"event\":\"EntityCreated\",\"entity\":\"users\"},\"start_step\":\"mail\","
        "\"steps\":[{\"key\":\"mail\",\"name\":\"Send\",\"action\":\"CallAnApi\",\"enabled\":true,"
        "\"params\":{\"url\":\"https://example.com/hook\",\"method\":\"POST\","
        "\"headers\":{\"Authorization\":\"Bearer {{ $svc.secrets.TOKEN }}\"},"
        "\"body\":{\"to\":\"{{ $svc.trigger.data.email }}\",\"n\":[1,\"{{ $svc.secrets.B }}\"]},"
        "\"results_path\":\"data.items[0]\"},"
        "\"next\":\"save\",\"on_failure\":null,\"timeout_seconds\":30},"
        "{\"key\":\"save\",\"action\":\"Create Data\",\"params\":{\"entity\":\"log\","
        "\"values\":{\"reply\":\"{{ $svc.steps.mail.data.id }}\",\"n\":1}}}]}"));
    assert_true(str_is(definition.name, "Welcome"));
    assert_true(definition.enabled);
    assert_int_equal(definition.kind, TRIGGER_EVENT);
    assert_int_equal(definition.event, EVENT_CREATED);
    assert_true(str_is(definition.entity, "users"));
    assert_null(definition.filter);
    assert_int_equal(definition.step_count, 2);
    assert_int_equal(definition.start, 0);
    const struct step *mail = &definition.steps[0];
    assert_int_equal(mail->action, STEP_CALL_AN_API);
    assert_int_equal(mail->next, 1);
    assert_int_equal(mail->on_failure, STEP_NONE);
    assert_int_equal(mail->timeout_ms, 30000);
    assert_true(str_is(mail->name, "Send"));
    const struct step *save = &definition.steps[1];
    assert_int_equal(save->action, STEP_CREATE_DATA);
    assert_true(save->enabled);
    assert_int_equal(save->next, STEP_NONE);
    assert_int_equal(save->timeout_ms, 30000);

    struct definition_secret *secrets;
    assert_int_equal(definition_secrets(arena, &definition, &secrets), 2);
    assert_true(str_is(secrets[0].name, "TOKEN") && secrets[0].step == 0);
    assert_true(str_is(secrets[1].name, "B") && secrets[1].step == 0);
}

TEST_WITH(test_triggers, set_up, tear_down)
{
    static const char *const triggers[] = {
        "{\"kind\":\"timed\",\"cron\":\"*/5 * * * *\",\"timezone\":\"UTC\"}",
        "{\"kind\":\"timed\",\"cron\":\"0 9 * * 1-5\"}",
        "{\"kind\":\"manual\"}",
        "{\"kind\":\"api\",\"route\":\"sync-orders\"}",
        "{\"kind\":\"api\",\"route\":\"Sync_Orders9\"}",
        "{\"kind\":\"event\",\"event\":\"EntityUpdated\",\"entity\":\"users\"}",
        "{\"kind\":\"event\",\"event\":\"EntityDeleted\",\"entity\":\"users\",\"filter\":null}",
        "{\"kind\":\"event\",\"event\":\"PaymentSucceeded\"}",
        "{\"kind\":\"event\",\"event\":\"PaymentSucceeded\",\"entity\":null}",
        "{\"kind\":\"event\",\"event\":\"SubscriptionExpired\",\"entity\":\"\"}",
        "{\"kind\":\"event\",\"event\":\"PaymentMethodCaptureFailed\"}",
        "{\"kind\":\"event\",\"event\":\"PushActionTaken\",\"entity\":\"rsvp\","
        "\"filter\":{\"field\":\"action_id\",\"op\":\"eq\",\"value\":\"yes\"}}",
        "{\"kind\":\"event\",\"event\":\"PushActionTaken\",\"entity\":\"\"}",
        "{\"kind\":\"event\",\"event\":\"PushActionTaken\"}",
    };

    for (size_t i = 0; i < ARRAY_LEN(triggers); i++)
        parse_ok(doc(triggers[i], A));
    parse_ok(doc(triggers[0], A));
    assert_int_equal(definition.kind, TRIGGER_TIMED);
    assert_true(str_is(definition.cron_text, "*/5 * * * *"));
    parse_ok(doc(triggers[1], A));
    assert_true(str_is(definition.timezone, "UTC"));
    parse_ok(doc(triggers[4], A));
    assert_true(str_is(definition.route, "sync_orders9"));
    parse_ok(doc(triggers[11], A));
    assert_non_null(definition.filter_condition);
    assert_true(str_is(definition.entity, "rsvp"));
}

TEST_WITH(test_names, set_up, tear_down)
{
    assert_string_equal(trigger_kind_name(TRIGGER_API), "api");
    assert_string_equal(step_action_name(STEP_SEND_PUSH), "SendPushNotification");
}

static const char *const right_steps[] = {
    STEP("CreateData", "{\"entity\":\"e\",\"values\":{}}"),
    STEP("CreateData",
         "{\"entity\":\"e\",\"values\":{\"a\":\"{{ $svc.trigger.data }}\",\"b\":[1],\"c\":null}}"),
    STEP("ReadData", "{\"entity\":\"e\"}"),
    STEP("Read Data", "{\"entity\":\"e\",\"id\":5}"),
    STEP("ReadData", "{\"entity\":\"e\",\"id\":\"{{ $svc.trigger.id }}\",\"filter\":null}"),
    STEP("ReadData",
         "{\"entity\":\"e\",\"filter\":{\"a\":1,\"b\":null,\"c\":\"{{ $svc.trigger.id }}\","
         "\"d\":{\"gte\":1,\"lt\":\"{{ $svc.trigger.id }}\",\"in\":[1,\"x\"],"
         "\"nin\":\"{{ $svc.trigger.data.ids }}\",\"between\":[1,2],\"null\":false},"
         "\"r.country\":{\"icontains\":\"x\"},"
         "\"or\":[{\"a\":1},{\"and\":[{\"b\":2}]}],\"and\":{\"eq\":1}},"
         "\"sort\":\"-created_at,name\",\"fields\":[\"id\",\"name\"],\"limit\":500,\"page\":2}"),
    STEP("UpdateData", "{\"entity\":\"e\",\"id\":1,\"values\":{\"a\":1}}"),
    STEP("UpdateData", "{\"entity\":\"e\",\"id\":\"{{ $svc.trigger.id }}\",\"values\":{\"a\":1}}"),
    STEP("DeleteData", "{\"entity\":\"e\",\"id\":\"{{ $svc.trigger.id }}\"}"),
    STEP("BulkCreateData", "{\"entity\":\"e\",\"items\":\"{{ $svc.trigger.data.rows }}\"}"),
    STEP("Bulk Create Data",
         "{\"entity\":\"e\",\"items\":[{\"a\":\"{{ $svc.trigger.id }}\"},{\"a\":2}]}"),
    STEP("Condition", "{\"field\":\"$svc.trigger.data.total\",\"op\":\"gt\",\"value\":100}"),
    STEP("Condition", "{\"any\":[{\"field\":\"$svc.trigger.id\",\"op\":\"exists\"}]}"),
    STEP("Run Script", "{\"script\":\"const a = {{}};\\nreturn '{{ $svc.nope }}'\"}"),
    STEP("CallAnApi", "{\"url\":\"http://127.0.0.1:8080/x?a={b}\",\"method\":\"GET\"}"),
    STEP("CallAnApi",
         "{\"url\":\"https://example.com\",\"method\":\"DELETE\",\"headers\":null,\"body\":null,"
         "\"results_path\":null}"),
    STEP("CallAnApi",
         "{\"url\":\"https://example.com\",\"method\":\"PUT\",\"body\":\"{{ $svc.secrets.A }}\"}"),
    STEP("SendEmail",
         "{\"to\":\"a@example.com\",\"subject\":\"Hi {{ $svc.trigger.data.name }}\","
         "\"body_text\":\"line\\nline\"}"),
    STEP("SendEmail",
         "{\"to\":[\"a@example.com\",\"{{ $svc.trigger.data.email }}\"],\"cc\":\"{{ "
         "$svc.trigger.data.cc }}\",\"bcc\":[\"b@example.com\"],\"reply_to\":\"r@example.com\","
         "\"subject\":\"x\",\"body_html\":\"<p>\"}"),
    STEP("SendPushNotification",
         "{\"title\":\"T\",\"body\":\"B\",\"audience\":{\"kind\":\"all\"}}"),
    STEP("SendPushNotification",
         "{\"template_type\":\"welcome\",\"audience\":{\"kind\":\"user\",\"user_id\":\"\"}}"),
    STEP("SendPushNotification",
         "{\"title\":\"T\",\"body\":\"B\",\"image_url\":\"https://x/y.png\",\"click_action\":\"app:"
         "//x\",\"category\":\"rsvp\",\"buttons\":[{\"id\":\"yes\",\"label\":\"Yes\"},{\"id\":"
         "\"no\",\"label\":\"No\",\"click_action\":\"x\"}],\"data\":{\"a\":\"{{ $svc.trigger.id "
         "}}\"},\"audience\":{\"kind\":\"users\",\"user_ids\":[1,\"{{ $svc.trigger.id "
         "}}\"],\"provider\":\"fcm\"}}"),
    STEP("SendPushNotification",
         "{\"title\":\"T\",\"body\":\"B\",\"audience\":{\"kind\":\"users\",\"user_ids\":\"{{ "
         "$svc.trigger.data.ids }}\"}}"),
    STEP("SendPushNotification",
         "{\"title\":\"T\",\"body\":\"B\",\"audience\":{\"kind\":\"entity\",\"owner_entity_name\":"
         "\"shops\",\"owner_entity_id\":7,\"provider\":\"web_push\"}}"),
};

TEST_WITH(test_right_steps, set_up, tear_down)
{
    for (size_t i = 0; i < ARRAY_LEN(right_steps); i++)
        parse_ok(doc(MANUAL, right_steps[i]));
}

TEST_WITH(test_links, set_up, tear_down)
{
    parse_ok(doc(MANUAL,
                 "{\"key\":\"c\",\"action\":\"Condition\",\"params\":{\"field\":"
                 "\"$svc.trigger.data\",\"op\":\"not_empty\"},\"then\":\"a\",\"else\":\"b\"},"
                 "{\"key\":\"a\"," SCRIPT ",\"next\":\"z\",\"on_failure\":\"f\"},"
                 "{\"key\":\"b\"," SCRIPT ",\"next\":\"z\",\"enabled\":false},"
                 "{\"key\":\"z\",\"action\":\"CreateData\",\"params\":{\"entity\":\"e\",\"values\":"
                 "{\"a\":\"{{ $svc.steps.a.data }}\",\"b\":\"{{ $svc.steps.b.data }}\"}}},"
                 "{\"key\":\"f\",\"action\":\"CreateData\",\"params\":{\"entity\":\"e\",\"values\":"
                 "{\"a\":\"{{ $svc.steps.a.error }}\"}},\"next\":\"z\"}"));
    const struct step *steps = definition.steps;
    assert_int_equal(steps[0].on_true, 1);
    assert_int_equal(steps[0].on_false, 2);
    assert_int_equal(steps[0].next, STEP_NONE);
    assert_non_null(steps[0].condition);
    assert_int_equal(steps[1].on_failure, 4);
    assert_false(steps[2].enabled);
    assert_int_equal(steps[1].timeout_ms, 10000);
    assert_int_equal(steps[3].timeout_ms, 30000);
}

static struct str chain(size_t count)
{
    struct strbuf out;

    strbuf_init(&out, arena, 1 << 20);
    for (size_t i = 0; i < count; i++) {
        strbuf_printf(&out, "%s{\"key\":\"s%zu\"," SCRIPT, i > 0 ? "," : "", i);
        if (i + 1 < count)
            strbuf_printf(&out, ",\"next\":\"s%zu\"", i + 1);
        strbuf_char(&out, '}');
    }
    return doc(MANUAL, strbuf_cstring(&out));
}

TEST_WITH(test_many_steps, set_up, tear_down)
{
    parse_ok(chain(100));
    assert_int_equal(definition.step_count, 100);
    assert_false(parse(chain(101)));
    assert_true(str_is(errors.items[0].field, "steps"));
}

/* --- documents --- */

TEST_WITH(test_doc, set_up, tear_down)
{
    parse_ok(STR(
        "{\"steps\":[{\"action\":\"Run Script\",\"next\":\"c\",\"params\":{\"script\":\"1\"},"
        "\"key\":\"a\"},{\"key\":\"c\",\"name\":\"N\",\"enabled\":false,\"action\":\"Condition\","
        "\"params\":{\"op\":\"exists\",\"field\":\"$svc.trigger.id\"},\"timeout_seconds\":5}],"
        "\"trigger\":{\"filter\":{\"op\":\"empty\",\"field\":\"x\"},\"entity\":\"old\","
        "\"event\":\"EntityCreated\",\"kind\":\"event\"},\"name\":\"W\"}"));
    definition.entity = STR("renamed");
    json_t *printed = definition_doc(arena, &definition);
    static const char expected[] =
        "{\"name\":\"W\",\"enabled\":true,\"trigger\":{\"kind\":\"event\",\"event\":"
        "\"EntityCreated\",\"entity\":\"renamed\",\"filter\":{\"op\":\"empty\",\"field\":\"x\"}},"
        "\"start_step\":\"a\",\"steps\":[{\"key\":\"a\",\"name\":null,\"action\":\"RunScript\","
        "\"enabled\":true,\"params\":{\"script\":\"1\"},\"next\":\"c\",\"on_failure\":null,"
        "\"timeout_seconds\":10},{\"key\":\"c\",\"name\":\"N\",\"action\":\"Condition\","
        "\"enabled\":false,\"params\":{\"op\":\"exists\",\"field\":\"$svc.trigger.id\"},"
        "\"then\":null,\"else\":null,\"on_failure\":null,\"timeout_seconds\":5}]}";
    if (!str_is(jr_print(arena, printed), expected))
        fail_msg("%.*s", STR_ARG(jr_print(arena, printed)));
    /* a printed document can be sent back, and gives the same definition */
    parse_ok(jr_print(arena, printed));
    assert_true(str_is(jr_print(arena, definition_doc(arena, &definition)), expected));
}

TEST_WITH(test_doc_triggers, set_up, tear_down)
{
    static const struct {
        const char *given;
        const char *kept;
    } triggers[] = {
        {"{\"cron\":\"0 0 * * *\",\"kind\":\"timed\"}",
         "{\"kind\":\"timed\",\"cron\":\"0 0 * * *\",\"timezone\":\"UTC\"}"},
        {"{\"route\":\"AB\",\"kind\":\"api\"}", "{\"kind\":\"api\",\"route\":\"ab\"}"},
        {MANUAL, MANUAL},
        {"{\"kind\":\"event\",\"event\":\"PushActionTaken\",\"entity\":null}",
         "{\"kind\":\"event\",\"event\":\"PushActionTaken\",\"entity\":\"\"}"},
        {"{\"event\":\"PaymentFailed\",\"kind\":\"event\",\"entity\":\"\"}",
         "{\"kind\":\"event\",\"event\":\"PaymentFailed\"}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(triggers); i++) {
        parse_ok(doc(triggers[i].given, A));
        json_t *kept = json_object_get(definition_doc(arena, &definition), "trigger");
        if (!str_is(jr_print(arena, kept), triggers[i].kept))
            fail_msg("%.*s", STR_ARG(jr_print(arena, kept)));
    }
}

/* --- the model --- */

static struct entity entities[2];
static struct model_field fields[2][8];
static struct model model = {.entities = entities, .entity_count = 2};

static void add_field(size_t entity, const char *name, enum model_type type, bool system)
{
    struct model_field *field = &fields[entity][entities[entity].field_count++];

    *field = (struct model_field){
        .name = str_from(name),
        .type = type,
        .system = system,
        .target = type == TYPE_RELATION ? &entities[1 - entity] : NULL,
    };
    (void)map_put(entities[entity].by_name, field->name, field);
}

static int make_model(void **state UNUSED)
{
    model.by_name = map_new();
    for (size_t i = 0; i < 2; i++) {
        entities[i] = (struct entity){
            .name = i == 0 ? STR("e") : STR("authors"), .fields = fields[i], .by_name = map_new()};
        (void)map_put(model.by_name, entities[i].name, &entities[i]);
        add_field(i, "id", TYPE_INTEGER, true);
        add_field(i, "created_at", TYPE_DATETIME, true);
        add_field(i, "name", TYPE_VARCHAR, false);
        add_field(i, "token", TYPE_SECRET, false);
        add_field(i, "other", TYPE_RELATION, false);
    }
    return 0;
}

static int free_model(void **state UNUSED)
{
    for (size_t i = 0; i < 2; i++)
        map_free(entities[i].by_name);
    map_free(model.by_name);
    return 0;
}

static const char *const known_steps[] = {
    STEP("CreateData", "{\"entity\":\"e\",\"values\":{\"name\":1,\"token\":\"x\",\"other\":5}}"),
    STEP("UpdateData", "{\"entity\":\"authors\",\"id\":1,\"values\":{\"other\":null}}"),
    STEP("BulkCreateData", "{\"entity\":\"e\",\"items\":[{\"name\":1},{}]}"),
    STEP("BulkCreateData", "{\"entity\":\"e\",\"items\":\"{{ $svc.trigger.data }}\"}"),
    STEP("ReadData",
         "{\"entity\":\"e\",\"filter\":{\"id\":1,\"other.name\":\"x\",\"or\":[{\"created_at\":{"
         "\"gt\":\"2026-01-01\"}}]},\"sort\":\"-created_at, other.other.id\",\"fields\":[\"id\","
         "\"token\"]}"),
    STEP("DeleteData", "{\"entity\":\"e\",\"id\":1}"),
    STEP(
        "SendPushNotification",
        "{\"template_type\":\"t\",\"audience\":{\"kind\":\"entity\",\"owner_entity_name\":\"e\"}}"),
    STEP("SendPushNotification",
         "{\"template_type\":\"t\",\"audience\":{\"kind\":\"entity\",\"owner_entity_name\":\"{{ "
         "$svc.trigger.entity_name }}\"}}"),
    A,
};

static const struct wrong unknown_names[] = {
    {STEP("CreateData", "{\"entity\":\"nope\",\"values\":{\"a\":1}}"),
     P(".entity"),
     "not_found",
     "no entity \"nope\""},
    {STEP("CreateData", "{\"entity\":\"e\",\"values\":{\"a\":1}}"),
     P(".values.a"),
     "unknown_field",
     "\"e\" has no field \"a\""},
    {STEP("UpdateData", "{\"entity\":\"e\",\"id\":1,\"values\":{\"id\":2}}"),
     P(".values.id"),
     "read_only",
     ""},
    {STEP("BulkCreateData", "{\"entity\":\"e\",\"items\":[{},{\"created_at\":1}]}"),
     P(".items[1].created_at"),
     "read_only",
     ""},
    {STEP("ReadData", "{\"entity\":\"e\",\"filter\":{\"a\":1}}"),
     P(".filter.a"),
     "unknown_field",
     ""},
    {STEP("ReadData", "{\"entity\":\"e\",\"filter\":{\"and\":[{\"other.a\":1}]}}"),
     P(".filter.and[0].other.a"),
     "unknown_field",
     ""},
    {STEP("ReadData", "{\"entity\":\"e\",\"filter\":{\"name.id\":1}}"),
     P(".filter.name.id"),
     "unknown_field",
     ""},
    {STEP("ReadData", "{\"entity\":\"e\",\"filter\":{\"token\":\"x\"}}"),
     P(".filter.token"),
     "validation_failed",
     "secret"},
    {STEP("ReadData", "{\"entity\":\"e\",\"filter\":{\"other.other.other.other.other.id\":1}}"),
     P(".filter.other.other.other.other.other.id"),
     "out_of_range",
     "too many"},
    {STEP("ReadData", "{\"entity\":\"e\",\"sort\":\"name,-a\"}"), P(".sort"), "unknown_field", ""},
    {STEP("ReadData", "{\"entity\":\"e\",\"sort\":[\"token\"]}"),
     P(".sort[0]"),
     "validation_failed",
     ""},
    {STEP("ReadData", "{\"entity\":\"e\",\"fields\":\"name,a\"}"),
     P(".fields"),
     "unknown_field",
     ""},
    {STEP("DeleteData", "{\"entity\":\"nope\",\"id\":1}"), P(".entity"), "not_found", ""},
    {STEP("SendPushNotification",
          "{\"template_type\":\"t\",\"audience\":{\"kind\":\"entity\",\"owner_entity_name\":"
          "\"nope\"}}"),
     P(".audience.owner_entity_name"),
     "not_found",
     ""},
};

static bool check(struct str text)
{
    parse_ok(text);
    return definition_check_model(arena, &definition, &model, &errors);
}

TEST_WITH(test_model, set_up, tear_down)
{
    static const struct wrong triggers[] = {
        {EVENT("\"event\":\"EntityCreated\",\"entity\":\"nope\""),
         "trigger.entity",
         "not_found",
         "nope"},
        {EVENT("\"event\":\"EntityCreated\",\"entity\":\"e\",\"filter\":{\"all\":[{\"field\":\"a\","
               "\"op\":\"exists\"}]}"),
         "trigger.filter.all[0].field",
         "unknown_field",
         "no field \"a\""},
    };

    for (size_t i = 0; i < ARRAY_LEN(known_steps); i++)
        if (!check(doc(MANUAL, known_steps[i])))
            fail_msg("%s:%.*s", known_steps[i], STR_ARG(found()));
    for (size_t i = 0; i < ARRAY_LEN(unknown_names); i++)
        expect(check(doc(MANUAL, unknown_names[i].text)), &unknown_names[i]);
    for (size_t i = 0; i < ARRAY_LEN(triggers); i++)
        expect(check(doc(triggers[i].text, A)), &triggers[i]);
    assert_true(check(doc(EVENT("\"event\":\"PushActionTaken\",\"entity\":\"rsvp\",\"filter\":"
                                "{\"field\":\"anything\",\"op\":\"exists\"}"),
                          A)));
}

TEST_WITH(test_secrets, set_up, tear_down)
{
    struct definition_secret *secrets;
    struct strbuf body;

    parse_ok(doc(MANUAL, A));
    assert_int_equal(definition_secrets(arena, &definition, &secrets), 0);
    strbuf_init(&body, arena, 65536);
    for (int i = 0; i < 40; i++)
        strbuf_printf(&body, "{{ $svc.secrets.S%d }} {{ $svc.secrets.S%d }}", i, i / 2);
    parse_ok(doc(MANUAL,
                 arena_cstr(arena,
                            arena_printf(arena,
                                         "{\"key\":\"a\"," SCRIPT ",\"next\":\"b\"},"
                                         "{\"key\":\"b\",\"action\":\"CallAnApi\",\"params\":"
                                         "{\"url\":\"https://x/\",\"method\":\"GET\",\"body\":"
                                         "\"%.*s\"}}",
                                         STR_ARG(strbuf_view(&body))))));
    assert_int_equal(definition_secrets(arena, &definition, &secrets), 40);
    assert_true(str_is(secrets[39].name, "S39") && secrets[39].step == 1);
}

GROUP(make_model, free_model)
