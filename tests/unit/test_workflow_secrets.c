/* Secrets of jobs are opened by name, and masked in every encoding. */
#include "unit.h"

#include "project_test.h"

#include "base/codec.h"
#include "base/utf8.h"
#include "json/jr_off_thread.h"
#include "project/unseal.h"
#include "workflow/mask_private.h"
#include "workflow/secrets.h"

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

static struct secret_values *values_of(struct str value)
{
    struct secret_values *values = ARENA_NEW(arena, values);

    values->count = 1;
    values->names = ARENA_NEW(arena, values->names);
    values->values = ARENA_NEW(arena, values->values);
    values->names[0] = STR("NAME");
    values->values[0] = value;
    values->hosts = ARENA_NEW(arena, values->hosts);
    values->used = ARENA_NEW(arena, values->used);
    return values;
}

static struct str masked_text(const struct secret_values *values, struct str text)
{
    json_t *value = json_stringn_nocheck(text.ptr, text.len);

    jr_attach_large(arena, value);
    const json_t *masked = secrets_mask(arena, values, value);
    return masked == value ? text
                           : (struct str){json_string_value(masked), json_string_length(masked)};
}

static void masks(const char *secret, const char *text, const char *want)
{
    struct str got = masked_text(values_of(str_from(secret)), str_from(text));

    if (!str_is(got, want))
        fail_msg("%s in %s: %.*s", secret, text, STR_ARG(got));
}

/* A short secret that was stored before short secrets were refused is masked as soon as a step
 * uses the secret. */
TEST_WITH(short_ones_that_are_used, setup, teardown)
{
    struct secret_values *values = values_of(STR("7\n"));

    assert_true(str_is(masked_text(values, STR("key 7")), "key 7"));
    assert_true(str_is(secrets_value(STR("NAME"), values), "7\n"));
    assert_true(str_is(masked_text(values, STR("key 7")), "key ********"));
    assert_true(str_is(masked_text(values, STR("7")), "********"));
    assert_true(str_is(masked_text(values, STR("key")), "key"));
    secrets_reset_used(values);
    assert_true(str_is(masked_text(values, STR("7")), "7"));
    values = values_of(STR(" \n"));
    (void)secrets_value(STR("NAME"), values);
    assert_true(str_is(masked_text(values, STR("a b")), "a b"));
}

TEST_WITH(where_they_may_go, setup, teardown)
{
    struct secret_values *values = values_of(STR("value"));
    struct str hosts[] = {STR("api.example.com"), STR("[::1]")};

    values->hosts[0] = (struct secret_hosts){true, ARRAY_LEN(hosts), hosts};
    assert_null(
        secrets_find_unsendable(values, STR("evil.example")).ptr); /* no secret is used yet */
    (void)secrets_value(STR("NAME"), values);
    assert_null(secrets_find_unsendable(values, STR("API.example.COM")).ptr);
    assert_null(secrets_find_unsendable(values, STR("[::1]")).ptr);
    assert_true(str_is(secrets_find_unsendable(values, STR("xapi.example.com")), "NAME"));
    assert_true(str_is(secrets_find_unsendable(values, STR("example.com")), "NAME"));
    values->hosts[0].is_restricted = false;
    values->hosts[0].count = 0;
    assert_null(secrets_find_unsendable(values, STR("evil.example")).ptr);
    assert_null(secrets_find_unsendable(NULL, STR("evil.example")).ptr);
}

TEST_WITH(texts_are_masked, setup, teardown)
{
    masks("s3cret", "token s3cret!", "token ********!");
    masks("s3cret", "s3crets3cret s3cre", "**************** s3cre");
    masks("aaaa", "aaaaaa", "********");
    masks("abc", "abc", "abc"); /* too short to be masked */
    masks("s3cret\n", "s3cret", "********");
    masks("s3cret", "", "");
    masks("s3cret", "S3CRET", "S3CRET");
    /* JSON, encoded once and twice, with and without optional escapes. */
    masks("a\"b\\c/d\n\xc3\xa4", "{\"k\":\"a\\\"b\\\\c/d\\n\xc3\xa4\"}", "{\"k\":\"********\"}");
    masks("a\"b\\c/d\n\xc3\xa4", "<a\\\"b\\\\c\\/d\\u000a\\u00E4>", "<********>");
    masks("a\"b\\c/d\n\xc3\xa4", "<a\\\\\\\"b\\\\\\\\c/d\\\\n\\\\u00e4>", "<********>");
    masks("k\xf0\x9f\x98\x80"
          "ey",
          "k\\ud83d\\uDE00ey",
          "********");
    masks("abcd", "\\u0061\\u0062cd", "********");
    /* Percent-encoding in upper and lower case, of any choice of bytes. */
    masks("a/b c&d", "?x=a%2Fb%20c%26d&y", "?x=********&y");
    masks("a/b c&d", "?x=a%2fb+c%26d&y", "?x=********&y");
    masks("a/b c&d", "?x=a/b%20c&d", "?x=********");
    masks("a+b/c", "a+b%2Fc a%2Bb/c", "******** ********");
    masks("p\"w\"d",
          "body=%7B%22k%22%3A%22p%5C%22w%5C%22d%22%7D",
          "body=%7B%22k%22%3A%22********%22%7D");
    masks("a/b+c", "a\\/b%2Bc", "********");
    /* Hexadecimal. */
    masks("s3cret", "<733363726574>", "<********>");
    masks("J.K.", "4A2E4B2e", "********");
    /* Base64: of "user:s3cret", within a longer text, URL-safe, escaped, broken into lines. */
    masks("s3cret", "Basic dXNlcjpzM2NyZXQ=", "Basic dXNlcj********=");
    masks("s3cret", "czNjcmV0", "********");
    masks("s3cret", "eHMzY3JldHk=", "e********k="); /* "xs3crety" */
    masks("\xfb\xff\xbf~~", "-_-_fn4", "********");
    masks("\xfb\xff\xbf~~", "+/+/fn4=", "********=");
    masks("\xfb\xff\xbf~~", "%2b%2f%2B%2Ffn4%3D", "********%3D");
    masks("\xfb\xff\xbf~~", "+\\/+\\/fn4=", "********=");
    masks("s3cret", "czNj\r\ncmV0", "********");
}

TEST_WITH(other_texts_stay, setup, teardown)
{
    masks("s3cret", "s3cre t", "s3cre t");
    masks("s3cret", "%73%33%63%72%65", "%73%33%63%72%65");
    masks("s3cret", "\\u0073\\u0033cre\\u00", "\\u0073\\u0033cre\\u00");
    masks("s3cret", "%", "%");
    masks("s3cret", "%7", "%7");
    masks("s3cret", "\\", "\\");
    masks("a\xc3\xa4zz", "a\\ud800zz a\\udc00 \\ud83dxx", "a\\ud800zz a\\udc00 \\ud83dxx");
    struct str text = STR("nothing");
    assert_ptr_equal(masked_text(values_of(STR("s3cret")), text).ptr, text.ptr);
    assert_ptr_equal(masked_text(NULL, text).ptr, text.ptr);
}

static json_t *parse(const char *text)
{
    struct jr_error error;
    json_t *root;

    assert_int_equal(jr_parse(arena, str_from(text), &root, &error), 0);
    return root;
}

TEST_WITH(values_are_masked, setup, teardown)
{
    const json_t *before =
        parse("{\"a\": [1, {\"b\": \"x s3cret\", \"s3cret\": true}], \"n\": 4711, \"m\": 47110, "
              "\"f\": 2.5, \"z\": null}");
    struct secret_values *values = values_of(STR("s3cret"));

    const json_t *after = secrets_mask(arena, values, before);
    assert_true(
        json_equal(after,
                   parse("{\"a\": [1, {\"b\": \"x ********\", \"********\": true}], \"n\": 4711, "
                         "\"m\": 47110, \"f\": 2.5, \"z\": null}")));
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(json_object_get(before, "a"), 1), "b")),
        "x s3cret");
    values->values[0] = STR("4711");
    after = secrets_mask(arena, values, before);
    assert_string_equal(json_string_value(json_object_get(after, "n")), "********");
    assert_int_equal(json_integer_value(json_object_get(after, "m")), 47110);
    values->values[0] = STR("absent");
    assert_ptr_equal(secrets_mask(arena, values, before), before);
    assert_ptr_equal(secrets_mask(arena, NULL, before), before);
    assert_null(secrets_mask(arena, values, NULL));
}

/* Secrets that contain each other, follow each other or overlap are all masked. */
TEST_WITH(several_are_masked, setup, teardown)
{
    struct str names[] = {STR("A"), STR("B"), STR("C")};
    struct str held[] = {STR("abcdef"), STR("cdef"), STR("efgh")};
    struct secret_hosts hosts[3] = {0};
    bool used[3] = {false};
    struct secret_values values = {3, names, held, hosts, used};

    assert_true(str_is(masked_text(&values, STR("-abcdef-cdef-")), "-********-********-"));
    assert_true(str_is(masked_text(&values, STR("-abcdefgh-")), "-********-"));
    assert_true(str_is(masked_text(&values, STR("cdefcdef")), "****************"));
    assert_true(str_is(secrets_value(STR("B"), &values), "cdef"));
    assert_null(secrets_value(STR("D"), &values).ptr);
}

/* --- any value, any encoding, any position --- */

static struct str random_text(size_t len)
{
    static const char *const parts[] = {"a",
                                        "Z",
                                        "7",
                                        "/",
                                        "+",
                                        "\"",
                                        "\\",
                                        " ",
                                        "%",
                                        "\xc3\xa4",
                                        "\xe2\x82\xac",
                                        "&",
                                        "-",
                                        "=",
                                        "~",
                                        "\n"};
    struct strbuf out;

    strbuf_init(&out, arena, 1 << 16);
    while (strbuf_view(&out).len < len)
        strbuf_cstr(&out, parts[random() % (long)ARRAY_LEN(parts)]);
    return strbuf_view(&out);
}

static struct str concat(struct str a, struct str b, struct str c)
{
    return arena_printf(arena, "%.*s%.*s%.*s", STR_ARG(a), STR_ARG(b), STR_ARG(c));
}

static struct str as_json(struct str text)
{
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, arena, 1 << 20);
    jw_init(&w, &out);
    jw_str(&w, text);
    return strbuf_view(&out);
}

static struct str as_ascii_json(struct str text)
{
    json_t *value = json_stringn(text.ptr, text.len);
    char *printed = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_ESCAPE_SLASH);
    struct str copy = arena_dup(arena, str_from(printed));

    free(printed);
    json_decref(value);
    return copy;
}

static struct str as_b64url(struct str text)
{
    return codec_b64url(arena, text);
}

static struct str as_b64(struct str text)
{
    return codec_b64(arena, text);
}

static struct str as_hex(struct str text)
{
    return codec_hex(arena, text);
}

static struct str as_percent(struct str text)
{
    return codec_percent(arena, text);
}

static struct str as_json_twice(struct str text)
{
    return as_json(as_json(text));
}

static struct str as_percent_json(struct str text)
{
    return as_percent(as_json(text));
}

static struct str as_percent_b64(struct str text)
{
    return as_percent(as_b64(text));
}

static struct str as_json_b64(struct str text)
{
    return as_ascii_json(as_b64(text));
}

static struct str as_it_is(struct str text)
{
    return text;
}

TEST_WITH(any_coding_is_masked, setup, teardown)
{
    static struct str (*const codings[])(struct str text) = {
        as_it_is,
        as_json,
        as_json_twice,
        as_ascii_json,
        as_percent,
        as_percent_json,
        as_b64,
        as_b64url,
        as_hex,
        as_percent_b64,
        as_json_b64,
    };

    srandom(20261121);
    for (int i = 0; i < 3000; i++) {
        struct str secret = concat(STR("k"), random_text(4 + (size_t)(random() % 40)), STR("y"));
        struct str before = random_text((size_t)(random() % 9));
        struct str after = random_text((size_t)(random() % 9));
        size_t which = (size_t)random() % ARRAY_LEN(codings);
        struct str clear = concat(before, secret, after);
        struct str coded = codings[which](clear);
        struct str masked = masked_text(values_of(secret), coded);

        if (!str_eq(masked, masked_text(values_of(secret), masked)) && masked.len > 8)
            fail_msg("not settled: %.*s", STR_ARG(masked));
        assert_true(utf8_valid(masked));
        assert_non_null(memmem(masked.ptr, masked.len, "********", 8));
        /* The result is hardly longer than the encoded text around the secret. */
        size_t around = codings[which](before).len + codings[which](after).len + 8 + 12;
        if (masked.len > around)
            fail_msg("coding %zu: %.*s -> %.*s", which, STR_ARG(coded), STR_ARG(masked));
        arena_reset(arena);
    }
}

TEST_WITH(long_texts_are_quick, setup, teardown)
{
    struct secret_values values = {.count = 10};
    struct strbuf text;

    values.names = ARENA_ARRAY(arena, values.names, 10);
    values.values = ARENA_ARRAY(arena, values.values, 10);
    for (size_t i = 0; i < 10; i++)
        values.values[i] = arena_printf(arena, "a%%\\secret-number-%zu-of-ten", i);
    strbuf_init(&text, arena, 4 << 20);
    while (strbuf_view(&text).len < 1 << 20)
        strbuf_cstr(&text, "%5C\\u0061a%\\+a%\\secre ordinary words ");
    int64_t begun_ms = clock_mono_ms();
    struct str masked = masked_text(&values, strbuf_view(&text));
    print_message("1 MiB, ten secrets: %d ms\n", (int)(clock_mono_ms() - begun_ms));
    assert_ptr_equal(masked.ptr, strbuf_view(&text).ptr);
}

/* The cost of masking is bounded: a text that would take too much work is masked whole. */
TEST_WITH(slow_texts_are_masked_whole, setup, teardown)
{
    char *a = arena_alloc(arena, 1 << 20);

    memset(a, 'a', 1 << 20);
    struct str secret = arena_printf(arena, "%.*sb", 16000, a);
    struct str text = {a, 1 << 20};
    int64_t begun_ms = clock_mono_ms();
    assert_true(str_is(masked_text(values_of(secret), text), "********"));
    print_message("%d ms\n", (int)(clock_mono_ms() - begun_ms));
}

/* --- opening --- */

static void store(struct task *task,
                  struct project *project,
                  const struct aead_key *key,
                  const char *name,
                  const char *value)
{
    struct str place = aad_secret(task->arena, project->number, str_from(name));
    struct str sealed = codec_hex(task->arena, aead_seal(task->arena, key, str_from(value), place));

    exec(task,
         &project->db,
         arena_printf(task->arena,
                      "insert into {p}.secrets (name, sealed) values ('%s', '\\x%.*s')",
                      name,
                      STR_ARG(sealed))
             .ptr);
}

static void opened(struct task *task, struct directory *one, struct directory *two)
{
    struct project *project = create(task, one, "secrets");
    struct project *other;
    struct str names[] = {STR("B"), STR("NONE"), STR("A")};
    struct secret_values *values;
    struct str reason;
    struct aead_key strange = {.bytes = {5}, .id = 77};

    store(task, project, &project->data_key, "A", "value of a");
    store(task, project, &project->data_key, "B", "");
    store(task, project, &project->data_key, "C", "not asked for");
    store(task, project, &strange, "D", "lost");
    assert_int_equal(secrets_open(task, project, names, 3, &values), 0);
    assert_int_equal(values->count, 2);
    assert_true(str_is(secrets_value(STR("A"), values), "value of a"));
    assert_non_null(secrets_value(STR("B"), values).ptr);
    assert_int_equal(secrets_value(STR("B"), values).len, 0);
    assert_null(secrets_value(STR("NONE"), values).ptr);
    assert_null(secrets_value(STR("C"), values).ptr);
    assert_int_equal(secrets_open(task, project, NULL, 0, &values), 0);
    assert_int_equal(values->count, 0);
    names[1] = STR("D");
    assert_int_equal(secrets_open(task, project, names, 3, &values), SECRETS_UNREADABLE);
    exec(task, &project->db, "delete from {p}.secrets where name = 'D'");

    /* Another process has sealed the secrets again, with a key that this process does not know
     * yet. */
    assert_int_equal(data_keys_rotate(task, two, 0, say_nothing, &reason), 0);
    assert_int_equal(project_find(task, two, STR("secrets"), &other), 0);
    assert_int_equal(other->data_key.id, 2);
    assert_int_equal(secrets_open(task, project, names, 3, &values), 0);
    assert_true(str_is(secrets_value(STR("A"), values), "value of a"));
    exec(task, &project->db, "drop table {p}.secrets");
    assert_int_equal(secrets_open(task, project, names, 3, &values), DB_SCHEMA);
}

TEST_WITH(secrets_are_opened, setup, teardown)
{
    run(opened);
}
