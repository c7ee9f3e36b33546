/* The parts of project/ that need no database: names, pages, settings, checks of rights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "http/page.h"
#include "http/query.h"
#include "project/events.h"
#include "project/project_settings.h"
#include "project/redirect.h"
#include "rights/audit.h"

static struct arena *arena;

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

/* --- names --- */

TEST(test_names)
{
    static const char *const good[] = {"a", "order_lines2", "svcx", "ids"};
    static const char *const bad[] = {"",
                                      "1a",
                                      "_a",
                                      "Order",
                                      "a-b",
                                      "svc_users",
                                      "id",
                                      "created_at",
                                      "é",
                                      "a b",
                                      "created_by",
                                      "updated_at"};
    char longest[50];

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(model_name_ok(str_from(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(model_name_ok(str_from(bad[i])));
    memset(longest, 'a', sizeof(longest));
    assert_true(model_name_ok((struct str){longest, 48}));
    assert_false(model_name_ok((struct str){longest, 49}));
    for (int type = 0; type < TYPE_COUNT; type++)
        assert_int_equal(
            (int)model_type_find(str_from(model_type_info((enum model_type)type)->name)), type);
    assert_int_equal(model_type_find(STR("int")), TYPE_COUNT);
    assert_int_equal(model_on_delete_find(STR("cascade")), ON_DELETE_CASCADE);
    assert_int_equal(model_on_delete_find(STR("CASCADE")), -1);
}

/* --- pages --- */

static bool parse(const char *text, struct page *ret_page, struct schema_errors *errors)
{
    struct query query;
    const char *reason;

    *errors = (struct schema_errors){0};
    assert_int_equal(query_parse(arena, str_from(text), &query, &reason), 0);
    return page_parse(arena, &query, ret_page, errors);
}

static void refused(const char *text, const char *field, const char *code)
{
    struct page page;
    struct schema_errors errors;

    assert_false(parse(text, &page, &errors));
    assert_int_equal(errors.count, 1);
    assert_true(str_is(errors.items[0].field, field));
    assert_string_equal(errors.items[0].code, code);
}

TEST(test_page)
{
    struct page page;
    struct schema_errors errors;

    assert_true(parse("", &page, &errors));
    assert_int_equal(page.page, 1);
    assert_int_equal(page.limit, 20);
    assert_true(page.count);
    assert_false(page.descending);
    assert_int_equal(page.sort.len, 0);
    assert_int_equal(page_offset(&page), 0);

    assert_true(parse("page=3&limit=500&sort=-created_at&order=desc&count=false", &page, &errors));
    assert_int_equal(page_offset(&page), 1000);
    assert_true(str_is(page.sort, "-created_at"));
    assert_true(page.descending);
    assert_false(page.count);

    assert_true(parse("page=9007199254740992&limit=1", &page, &errors));
    refused("page=9007199254740993&limit=1", "page", "out_of_range");
    refused("page=9007199254740992&limit=2", "page", "out_of_range");
    refused("limit=501", "limit", "out_of_range");
    refused("limit=0", "limit", "out_of_range");
    refused("page=0", "page", "out_of_range");
    refused("page=-1", "page", "out_of_range");
    refused("page=1.0", "page", "type_mismatch");
    refused("page=", "page", "type_mismatch");
    refused("page=%2B1", "page", "type_mismatch");
    refused("limit=99999999999999999999", "limit", "type_mismatch");
    refused("order=DESC", "order", "out_of_range");
    refused("count=1", "count", "type_mismatch");
}

/* --- settings --- */

static const struct project_settings *stored; /* NULL: none are stored */

static bool decode(const char *text, struct project_patch *ret_in, struct schema_errors *errors)
{
    struct jr_error error;
    json_t *body;

    *errors = (struct schema_errors){0};
    assert_int_equal(jr_parse(arena, str_from(text), &body, &error), 0);
    return schema_decode(arena, &project_schema, body, ret_in, errors) &&
           project_patch_check(arena, ret_in, stored, errors);
}

static void settings_refused(const char *text, const char *field)
{
    struct project_patch in;
    struct schema_errors errors;

    assert_false(decode(text, &in, &errors));
    assert_int_equal(errors.count, 1);
    if (!str_is(errors.items[0].field, field))
        fail_msg("%s: %.*s", text, STR_ARG(errors.items[0].field));
}

TEST(test_settings_bounds)
{
    static const char *const origins[] = {
        "https://a.example/",
        "https://a.example/x",
        "a.example",
        "https://",
        "https://u@a.example",
        "https://a.example:0",
        "https://a.example:65536",
        "https://A.example",
        "https://a.example:",
        "null",
        "",
        "https://*.a.example",
        "https://[::1",
        "https://[::1]x",
        "://a",
        "https://a.example?x=1",
        "https:/a.example",
        "https://a b",
        "**",
    };
    struct project_patch in;
    struct schema_errors errors;

    settings_refused("{\"settings\":{\"password_min_length\":7}}", "settings.password_min_length");
    settings_refused("{\"settings\":{\"password_min_length\":129}}",
                     "settings.password_min_length");
    settings_refused("{\"settings\":{\"access_token_seconds\":59}}",
                     "settings.access_token_seconds");
    settings_refused("{\"settings\":{\"access_token_seconds\":86401}}",
                     "settings.access_token_seconds");
    settings_refused("{\"settings\":{\"rate_read\":-1}}", "settings.rate_read");
    settings_refused("{\"settings\":{\"rate_write\":1000001}}", "settings.rate_write");
    settings_refused("{\"settings\":{\"rate_sign_in_account\":0}}",
                     "settings.rate_sign_in_account");
    settings_refused("{\"settings\":{\"oidc_issuer\":\"javascript:x\"}}", "settings.oidc_issuer");
    settings_refused("{\"settings\":{\"redirect_urls\":[\"/x\"]}}", "settings.redirect_urls[0]");
    settings_refused("{\"settings\":{\"auth_page_url\":\"nowhere\"}}", "settings.auth_page_url");
    settings_refused("{\"settings\":{\"mail_sender\":\"nobody\"}}", "settings.mail_sender");
    settings_refused("{\"settings\":{\"nonsense\":1}}", "settings.nonsense");
    settings_refused("{\"project_id\":\"x\"}", "project_id");
    settings_refused("{\"name\":\"\"}", "name");
    for (size_t i = 0; i < ARRAY_LEN(origins); i++)
        settings_refused(
            arena_printf(arena, "{\"allowed_origins\":[\"*\",\"%s\"]}", origins[i]).ptr,
            "allowed_origins[1]");
    assert_true(
        decode("{\"allowed_origins\":[\"*\",\"https://a.example\",\"http://localhost:3000\","
               "\"http://[::1]:80\",\"http://127.0.0.1\",\"capacitor://localhost\"]}",
               &in,
               &errors));
    assert_int_equal(in.allowed_origins.count, 6);
}

/* redirect_urls and auth_page_url: RFC 8252 for apps, RFC 9700 2.1 for pages. */
TEST(test_redirect_urls)
{
    static const char *const good[] = {
        "https://app.example.com/cb",
        "http://localhost:3000/cb",
        "https://a.example/cb?x=*#y",
        "https://app.example.com:443/",
        "myapp://cb",
        "com.example.app:/oauth",
        "exp://",
        "exp://127.0.0.1:19000/--/cb",
    };
    static const char *const bad[] = {
        "",
        "/x",
        "https:",
        "https://",
        "https://*.example.com/cb",
        "https://*/cb",
        "https://app.example.com/*",
        "*",
        "myapp",
        "myapp:",
        "myapp:cb",
        "1app://cb",
        "my app://cb",
        "myapp://a b",
        "myapp://\"x",
        "javascript:alert(1)",
        "javascript://x/%0aalert(1)",
        "JavaScript:/x",
        "data:/text",
        "file:///etc/passwd",
        "vbscript:/x",
        "mailto:/x",
    };
    static const char *const same[][2] = {
        {"https://app.example.com:443/cb", "https://app.example.com/cb"},
        {"http://localhost:80", "http://LOCALHOST/"},
        {"https://app.example.com", "HTTPS://app.example.com/"},
        {"https://app.example.com/?a=1", "https://app.example.com?a=1"},
        {"http://[::1]:80/", "http://[::1]"},
        {"myapp://cb", "myapp://cb"},
    };
    static const char *const different[][2] = {
        {"https://app.example.com:80/cb", "https://app.example.com/cb"},
        {"http://app.example.com:443/cb", "http://app.example.com/cb"},
        {"https://app.example.com/cb", "http://app.example.com/cb"},
        {"https://app.example.com/cb", "https://app.example.com/CB"},
        {"https://app.example.com/cb", "https://app.example.com/cb/"},
        {"https://app.example.com/cb", "https://app.example.com//cb"},
        {"https://app.example.com/cb", "https://app.example.com/cb?x"},
        {"https://app.example.com/cb", "https://app.example.com.evil.example/cb"},
        {"https://app.example.com/cb", "https://app.example.com@evil.example/cb"},
        {"https://app.example.com:443@evil.example/cb", "https://app.example.com/cb"},
        {"myapp://cb", "myapp://CB"},
    };

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (redirect_url_fault(str_from(good[i])))
            fail_msg("%s: %s", good[i], redirect_url_fault(str_from(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (!redirect_url_fault(str_from(bad[i])))
            fail_msg("%s is accepted", bad[i]);
    for (size_t i = 0; i < ARRAY_LEN(same); i++)
        if (!redirect_url_is_same(str_from(same[i][0]), str_from(same[i][1])))
            fail_msg("%s is not %s", same[i][0], same[i][1]);
    for (size_t i = 0; i < ARRAY_LEN(different); i++)
        if (redirect_url_is_same(str_from(different[i][0]), str_from(different[i][1])))
            fail_msg("%s is %s", different[i][0], different[i][1]);
}

TEST(test_settings_merge)
{
    struct project_settings settings;
    struct project_patch in;
    struct schema_errors errors;
    struct strbuf out;
    struct jw w;

    project_settings_set_default(&settings);
    assert_int_equal(settings.access_token_seconds, 3600);
    assert_true(settings.default_row_level_security);
    assert_true(
        decode("{\"allowed_origins\":[\"*\"],\"settings\":{\"rate_read\":5,\"sign_up\":true,"
               "\"oidc_client_secret\":\"hush\",\"default_row_level_security\":false}}",
               &in,
               &errors));
    project_settings_merge(&settings, &in);
    assert_int_equal(settings.rate_read, 5);
    assert_true(settings.sign_up);
    assert_false(settings.default_row_level_security);
    assert_int_equal(settings.allowed_origin_count, 1);

    strbuf_init(&out, arena, 65536);
    jw_init(&w, &out);
    project_settings_json(&w, &settings);
    assert_true(jw_is_complete(&w));
    assert_null(strstr(strbuf_cstring(&out), "hush"));
    assert_non_null(strstr(strbuf_cstring(&out), "\"oidc_client_secret\":\"********\""));

    /* A masked secret that a client sends back keeps the stored secret, and is refused when none
     * is stored. null restores the default. */
    assert_false(decode("{\"settings\":{\"oidc_client_secret\":\"********\"}}", &in, &errors));
    stored = &settings;
    assert_true(decode("{\"settings\":{\"oidc_client_secret\":\"********\",\"rate_read\":null,"
                       "\"default_row_level_security\":null}}",
                       &in,
                       &errors));
    project_settings_merge(&settings, &in);
    assert_true(str_is(settings.oidc_client_secret, "hush"));
    assert_int_equal(settings.rate_read, 0);
    assert_true(settings.default_row_level_security);
    assert_true(settings.sign_up);
    assert_int_equal(settings.allowed_origin_count, 1);
    assert_true(decode(
        "{\"allowed_origins\":null,\"settings\":{\"oidc_client_secret\":null}}", &in, &errors));
    project_settings_merge(&settings, &in);
    assert_int_equal(settings.allowed_origin_count, 0);
    assert_int_equal(settings.oidc_client_secret.len, 0);
    stored = NULL;
}

/* --- checks of rights --- */

TEST(test_caller)
{
    const int64_t listed[] = {3, 8, 15};
    struct entity_right entities[] = {
        {.entity_id = 2, .actions = 1U << ACT_READ, .fields = {{.all = true}}, .field_key = 7},
        {.entity_id = 5,
         .actions = 1U << ACT_READ | 1U << ACT_DELETE,
         .fields = {{.ids = listed, .count = 3}},
         .field_key = 9},
    };
    struct rights rights = {.entities = entities, .entity_count = 2, .api_access = true};
    struct caller user = {.kind = CALLER_USER, .rights = &rights};
    const struct caller nobody = {.kind = CALLER_NONE};
    const struct caller system = {.kind = CALLER_SYSTEM};
    const struct caller operator= {.kind = CALLER_OPERATOR};
    const struct entity five = {.id = 5};
    const struct entity six = {.id = 6};
    struct model_field field = {.id = 8, .entity = &five};

    perm_set_add(&rights.perms, PERM_SVC_USERS_READ);
    assert_true(caller_can(&user, PERM_SVC_USERS_READ));
    assert_true(caller_can(&user, PERM_NONE));
    assert_false(caller_can(&user, PERM_SVC_USERS_CREATE));
    assert_false(caller_can(&user, PERM_ENTITY_READ));
    assert_false(caller_can(&nobody, PERM_SVC_USERS_READ));
    assert_false(caller_can(&operator, PERM_SVC_USERS_READ));
    assert_true(caller_can(&system, PERM_SVC_USERS_READ));

    assert_true(caller_can_entity(&user, 5, ACT_DELETE));
    assert_false(caller_can_entity(&user, 5, ACT_CREATE));
    assert_false(caller_can_entity(&user, 2, ACT_DELETE));
    assert_false(caller_can_entity(&user, 6, ACT_READ));
    assert_false(caller_can_entity(&nobody, 5, ACT_READ));

    assert_true(caller_can_field(&user, &field, ACT_READ));
    assert_false(caller_can_field(&user, &field, ACT_UPDATE));
    assert_false(caller_can_field(&user, &field, ACT_DELETE));
    field.id = 9;
    assert_false(caller_can_field(&user, &field, ACT_READ));
    assert_true(caller_can_field(&system, &field, ACT_UPDATE));
    field.system = true;
    assert_true(caller_can_field(&user, &field, ACT_READ));
    assert_false(caller_can_field(&system, &field, ACT_UPDATE));

    assert_int_equal(caller_field_key(&user, &five), 9);
    assert_int_not_equal(caller_field_key(&user, &six), caller_field_key(&system, &six));
    assert_int_equal(caller_field_key(&nobody, &six), caller_field_key(&user, &six));

    /* An API key is never an administrator, even if its creator is one. */
    rights.is_admin = true;
    assert_true(caller_is_admin(&user));
    user.kind = CALLER_KEY;
    assert_false(caller_is_admin(&user));
    assert_true(caller_is_admin(&system));
    assert_false(caller_is_admin(&operator));
}

/* --- calls --- */

TEST(test_calls)
{
    const struct entity entity = {.id = 5};
    const struct caller key = {.kind = CALLER_KEY, .user_id = 2, .key_id = 9};

    struct outbox_row row = {
        .entity = &entity,
        .event = EVENT_DELETED,
        .record_id = 77,
        .payload = STR("{\"id\":77}"),
        .depth = 3,
    };
    struct db_call call = events_outbox_call(arena, &row);
    assert_int_equal(call.param_count, call.sql->arity);
    assert_true(str_is(call.params[1].str, "EntityDeleted"));
    assert_int_equal(call.params[3].kind, PARAM_NULL);
    assert_int_equal(call.params[5].kind, PARAM_NULL);
    row.actor_id = 4;
    row.traceparent = STR("00-ab");
    call = events_outbox_call(arena, &row);
    assert_int_equal(call.params[3].i64, 4);
    assert_int_equal(call.params[4].i64, 3);
    assert_true(str_is(call.params[5].str, "00-ab"));
    assert_int_equal(call.params[OUTBOX_PARAMS].i64, 77);
    assert_true(str_starts(str_from(call.sql->text), events_outbox_head()));
    assert_true(str_ends(events_outbox_head(), STR("$7::bigint, ")));

    /* For an event without an entity, the statement itself checks whether a workflow listens to
     * it. */
    row = (struct outbox_row){.event = EVENT_PAYMENT_CREATED, .payload = STR("{}")};
    call = events_outbox_call(arena, &row);
    assert_int_equal(call.param_count, call.sql->arity);
    assert_int_equal(call.params[0].i64, CONSUMER_WORKFLOWS);
    assert_int_equal(call.params[2].i64, 0);
    assert_non_null(strstr(call.sql->text, "w.event = $2::text"));

    call = audit_call(arena, &key, "roles.delete", "role", 4, STR_NONE, STR("req-1"));
    assert_int_equal(call.param_count, call.sql->arity);
    assert_true(str_is(call.params[0].str, "api_key"));
    assert_int_equal(call.params[1].i64, 9);
    assert_true(str_is(call.params[4].str, "4"));
    assert_int_equal(call.params[5].kind, PARAM_NULL);
}

GROUP(setup, teardown)
