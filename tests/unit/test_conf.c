/* common/core/conf: loading from an environment, messages, help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit.h"

#define CONF_DEF     "../../tests/unit/test_conf.def"
#define CONF_IGNORED "other_one", "search_*", "admin_host"
#include "conf/conf_items.h"

#define KEY_TEXT "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define ENOUGH                                                                                     \
    "GROUNDWORK_DATABASE_URL=postgres://u:pw@db/x", "GROUNDWORK_MASTER_KEY=" KEY_TEXT,             \
        "GROUNDWORK_REGION=eu"

static struct arena *arena;
static struct app_conf conf;

#define load(...)                                                                                  \
    conf_load(arena, &app_conf_spec, (char *[]){"PATH=/bin", ##__VA_ARGS__, NULL}, &conf)
#define assert_loads(...)                                                                          \
    do {                                                                                           \
        const char *error_ = load(__VA_ARGS__);                                                    \
        if (error_)                                                                                \
            fail_msg("%s", error_);                                                                \
    } while (0)
#define assert_says(message, ...)                                                                  \
    do {                                                                                           \
        const char *error_ = load(__VA_ARGS__);                                                    \
        assert_non_null(error_);                                                                   \
        assert_string_equal(error_, message);                                                      \
    } while (0)
#define assert_str(s, text) assert_true(str_is((s), (text)))

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    memset(&conf, 0, sizeof(conf));
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

TEST_WITH(defaults_apply, setup, teardown)
{
    assert_loads(ENOUGH);
    assert_str(conf.common.database_url, "postgres://u:pw@db/x");
    assert_null(conf.common.database_ddl_url.ptr);
    assert_int_equal(conf.common.master_key.len, 32);
    assert_memory_equal(conf.common.master_key.ptr, "\x00\x01\x02", 3);
    assert_int_equal(conf.common.redis_url.count, 1);
    assert_str(conf.common.redis_url.items[0], "redis://127.0.0.1:6379");
    assert_int_equal(conf.common.fetch_allow.count, 0);
    assert_int_equal(conf.common.workers, 1);
    assert_int_equal(conf.common.statement_timeout_ms, 5000);
    assert_str(conf.common.log_level, "info");
    assert_str(conf.name, "unnamed");
    assert_null(conf.nickname.ptr);
    assert_null(conf.token.ptr);
    assert_int_equal(conf.peers.count, 2);
    assert_str(conf.peers.items[1], "b:2");
    assert_true(conf.strict);
    assert_int_equal(conf.batch, 100);
    assert_true(conf.wait_ms == INT64_C(5000000000));
    assert_int_equal(conf.body_bytes, 1048576);
}

TEST_WITH(variables_win, setup, teardown)
{
    assert_loads(ENOUGH,
                 "GROUNDWORK_PORT=0",
                 "GROUNDWORK_NAME=a=b",
                 "GROUNDWORK_NICKNAME=", /* empty = not set */
                 "GROUNDWORK_TOKEN=abcd",
                 "GROUNDWORK_PEERS= x , y,unix:/run/z ",
                 "GROUNDWORK_MODE=safe",
                 "GROUNDWORK_STRICT=false",
                 "GROUNDWORK_BATCH=500",
                 "GROUNDWORK_BODY_BYTES=2M");
    assert_int_equal(conf.common.port, 0);
    assert_str(conf.name, "a=b");
    assert_null(conf.nickname.ptr);
    assert_str(conf.token, "abcd");
    assert_int_equal(conf.peers.count, 3);
    assert_str(conf.peers.items[0], "x");
    assert_string_equal(conf.peers.items[2].ptr, "unix:/run/z"); /* NUL-terminated */
    assert_str(conf.mode, "safe");
    assert_false(conf.strict);
    assert_int_equal(conf.batch, 500);
    assert_int_equal(conf.body_bytes, 2 << 20);
    assert_loads(ENOUGH, "GROUNDWORK_BODY_BYTES=1G");
    assert_int_equal(conf.body_bytes, 1 << 30);
}

TEST_WITH(wrong_values_are_reported, setup, teardown)
{
    assert_says("GROUNDWORK_BATCH is \"0\", but must be a whole number from 1 to 500",
                ENOUGH,
                "GROUNDWORK_BATCH=0");
    assert_says("GROUNDWORK_BATCH is \"1e2\", but must be a whole number from 1 to 500",
                ENOUGH,
                "GROUNDWORK_BATCH=1e2");
    assert_says("GROUNDWORK_BATCH is \"4294967297\", but must be a whole number from 1 to 500",
                ENOUGH,
                "GROUNDWORK_BATCH=4294967297");
    assert_says("GROUNDWORK_WAIT_MS is \"-1\", but must be milliseconds from 0 to 9000000000",
                ENOUGH,
                "GROUNDWORK_WAIT_MS=-1");
    assert_says(
        "GROUNDWORK_STRICT is \"yes\", but must be true or false", ENOUGH, "GROUNDWORK_STRICT=yes");
    assert_says(
        "GROUNDWORK_MODE is \"fas\", but must be one of fast, safe", ENOUGH, "GROUNDWORK_MODE=fas");
    assert_says("GROUNDWORK_NAME is \"a?{}567890\", but must be a text of 2 to 8 bytes",
                ENOUGH,
                "GROUNDWORK_NAME=a\n{}567890");
    assert_says("GROUNDWORK_PEERS is \"a,,b\", but must be 1 to 3 entries separated by commas",
                ENOUGH,
                "GROUNDWORK_PEERS=a,,b");
    assert_non_null(load(ENOUGH, "GROUNDWORK_PEERS=a,b,c,d"));
    assert_non_null(load(ENOUGH, "GROUNDWORK_PEERS=a,"));
    assert_non_null(load(ENOUGH, "GROUNDWORK_BODY_BYTES=1023"));
    assert_non_null(load(ENOUGH, "GROUNDWORK_BODY_BYTES=2G"));
    assert_non_null(load(ENOUGH, "GROUNDWORK_BODY_BYTES=9223372036854775807K"));
    assert_non_null(load(ENOUGH, "GROUNDWORK_BODY_BYTES=K"));
    assert_non_null(load(ENOUGH, "GROUNDWORK_BODY_BYTES=1KK"));
    assert_int_equal(conf.batch, 0); /* nothing was written */
}

TEST_WITH(missing_and_unknown_are_reported, setup, teardown)
{
    assert_says(
        "GROUNDWORK_DATABASE_URL (or GROUNDWORK_DATABASE_URL_FILE) is required: a secret of "
        "1 to 4096 bytes");
    assert_says("GROUNDWORK_REGION is required: a text of 1 to 8 bytes",
                "GROUNDWORK_DATABASE_URL=x",
                "GROUNDWORK_MASTER_KEY=" KEY_TEXT);
    assert_says(
        "GROUNDWORK_PROT is not a variable of this program; --help-config lists all variables",
        ENOUGH,
        "GROUNDWORK_PROT=80");
    assert_non_null(load(ENOUGH, "GROUNDWORK_BATCH_FILE=x"));
    assert_non_null(load(ENOUGH, "GROUNDWORK_batch=5"));
    assert_non_null(load(ENOUGH, "GROUNDWORK_OTHER_ONES=1"));
    assert_non_null(load(ENOUGH, "GROUNDWORK_=1"));
    assert_loads(ENOUGH, "GROUNDWORK_OTHER_ONE=1", "GROUNDWORK_SEARCH_URL=1", "GROUNDWORKS=1");
}

TEST_WITH(secrets_stay_secret, setup, teardown)
{
    const char *error;

    error = load(ENOUGH, "GROUNDWORK_TOKEN=hunter2-hunter2-hunter2");
    assert_non_null(error);
    assert_null(strstr(error, "hunter2"));
    assert_non_null(strstr(error, "23 bytes"));
    error = load("GROUNDWORK_DATABASE_URL=x", "GROUNDWORK_MASTER_KEY=hunter2");
    assert_non_null(error);
    assert_null(strstr(error, "hunter2"));
    assert_non_null(strstr(error, "32 bytes in base64"));
    /* A URL in a plain entry loses its credentials. */
    error = load(ENOUGH, "GROUNDWORK_PEERS=redis://:p@ss@host:1,,redis://:word@b");
    assert_non_null(error);
    assert_null(strstr(error, "p@ss"));
    assert_null(strstr(error, "word"));
    assert_null(strstr(conf_help(arena, &app_conf_spec, CONF_HELP_TEXT).ptr, "pw@db"));
}

TEST_WITH(keys_come_in_two_spellings, setup, teardown)
{
#define WITH(key) "GROUNDWORK_DATABASE_URL=x", "GROUNDWORK_REGION=eu", "GROUNDWORK_MASTER_KEY=" key
    assert_loads(WITH("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="));
    assert_int_equal(conf.common.master_key.len, 32);
    assert_int_equal(conf.common.master_key.ptr[31], 31);
    assert_non_null(load(WITH("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=")));
    assert_non_null(load(WITH("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==")));
    assert_non_null(load(WITH("0001")));
#undef WITH
}

TEST_WITH(secrets_come_from_files, setup, teardown)
{
    char path[] = "/tmp/test_conf_XXXXXX";
    char variable[64];
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    (void)snprintf(variable, sizeof(variable), "GROUNDWORK_TOKEN_FILE=%s", path);
    assert_non_null(load(ENOUGH, variable)); /* empty */
    assert_int_equal(write(fd, " from file\r\n", 12), 12);
    assert_loads(ENOUGH, variable);
    assert_str(conf.token, " from file");
    assert_says("GROUNDWORK_TOKEN and GROUNDWORK_TOKEN_FILE are both set; set one of them",
                ENOUGH,
                variable,
                "GROUNDWORK_TOKEN=abcd");
    assert_loads(ENOUGH, variable, "GROUNDWORK_TOKEN=");
    assert_int_equal(write(fd, "\0binary", 7), 7);
    assert_non_null(load(ENOUGH, variable));
    assert_int_equal(ftruncate(fd, 70000), 0);
    assert_non_null(load(ENOUGH, variable));
    assert_int_equal(ftruncate(fd, 3), 0);
    const char *error = load(ENOUGH, variable);
    assert_non_null(error);
    assert_non_null(strstr(error, "GROUNDWORK_TOKEN_FILE holds a secret of 3 bytes"));
    (void)close(fd);
    (void)unlink(path);
    assert_says("GROUNDWORK_TOKEN_FILE: cannot read \"/nonexistent\": No such file or directory",
                ENOUGH,
                "GROUNDWORK_TOKEN_FILE=/nonexistent");
    assert_says("GROUNDWORK_TOKEN_FILE: cannot read \"/\": Is a directory",
                ENOUGH,
                "GROUNDWORK_TOKEN_FILE=/");
}

TEST_WITH(help_lists_everything, setup, teardown)
{
    struct str text = conf_help(arena, &app_conf_spec, CONF_HELP_TEXT);
    const char *help = arena_cstr(arena, text);

    assert_non_null(strstr(help,
                           "GROUNDWORK_BATCH=100\n    A batch.\n"
                           "    Must be a whole number from 1 to 500.\n"));
    assert_non_null(
        strstr(help,
               "GROUNDWORK_TOKEN (optional)\n    A token.\n    Must be a secret of 4 to "
               "16 bytes; or GROUNDWORK_TOKEN_FILE names a file that contains it.\n"));
    assert_non_null(strstr(help, "GROUNDWORK_MASTER_KEY (required)\n"));
    assert_null(strstr(help, "GROUNDWORK_ADMIN_HOST")); /* this program ignores it */
    help = arena_cstr(arena, conf_help(arena, &app_conf_spec, CONF_HELP_MARKDOWN));
    assert_non_null(
        strstr(help, "| `GROUNDWORK_STRICT` | `true` | true or false | Whether to be strict |\n"));
    assert_non_null(strstr(help, "| `GROUNDWORK_TOKEN` or `GROUNDWORK_TOKEN_FILE` |"));
    assert_int_equal(conf_help_from_args(2, (char *[]){"x", "--help-config", NULL}),
                     CONF_HELP_TEXT);
    assert_int_equal(conf_help_from_args(2, (char *[]){"x", "--help-config=markdown", NULL}),
                     CONF_HELP_MARKDOWN);
    assert_int_equal(conf_help_from_args(2, (char *[]){"--help-config", "x", NULL}),
                     CONF_HELP_NONE);
}
