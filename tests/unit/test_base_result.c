/* common/base: the table of results, their names, and where unexpected results occurred. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit.h"

#include "base/result.h"

static const struct {
    int rc;
    const char *name, *text;
} table[] = {
#define RESULT(name, text) {name, #name, text},
#include "base/result.def"
#undef RESULT
};

TEST(test_every_condition_has_a_value_and_a_line_of_its_own)
{
    assert_int_equal(ARRAY_LEN(table), RESULT_END - RESULT_FIRST - 1);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_int_equal(table[i].rc, RESULT_FIRST + 1 + (int)i);
        assert_string_equal(result_name(table[i].rc), table[i].name);
        assert_in_range(strlen(table[i].text), 8, 90);
    }
}

/* Handlers return HTTP statuses where other functions return conditions, so no condition may be a
 * status. */
TEST(test_no_condition_is_an_http_status)
{
    assert_true(RESULT_FIRST > 599);
    assert_string_equal(result_name(404), "HTTP_STATUS");
}

TEST(test_names)
{
    assert_string_equal(result_name(0), "OK");
    assert_string_equal(result_name(DB_UNIQUE), "DB_UNIQUE");
    assert_string_equal(result_name(-EINVAL), "EINVAL");
    assert_string_equal(result_name(-ETIMEDOUT), "ETIMEDOUT");
    assert_string_equal(result_name(1), "?");
    assert_string_equal(result_name(RESULT_FIRST), "?");
    assert_string_equal(result_name(RESULT_END), "?");
    assert_string_equal(result_name(-100000), "?");
    assert_string_equal(result_name(INT32_MIN), "?");
    assert_string_equal(result_name(INT32_MAX), "?");
}

static int raise_it(int rc)
{
    return ERROR(rc);
}

static int pass_on(int rc)
{
    TRY(raise_it(rc));
    return 0;
}

TEST(test_what_arises_is_noted_where_it_arose)
{
    struct result_site site = {0};

    result_site_set(&site);
    assert_int_equal(pass_on(-EINVAL), -EINVAL);
    assert_string_equal(site.file, "tests/unit/test_base_result.c");
    assert_int_equal(site.rc, -EINVAL);
    const int first = site.line;
    assert_int_equal(ERROR(-EINVAL), -EINVAL); /* recorded once: the first place is the origin */
    assert_int_equal(site.line, first);
    assert_int_equal(ERROR(-EIO), -EIO); /* another result */
    assert_int_equal(site.line, __LINE__ - 1);
    assert_int_equal(site.rc, -EIO);
    result_site_set(NULL);
}

static void *on_thread(void *arg)
{
    (void)arg;
    (void)ERROR(-ENOMEM);
    return NULL;
}

TEST(test_without_a_task_a_note_stays_with_its_thread)
{
    struct result_site site = {0};
    pthread_t thread;

    (void)ERROR(-EPROTO);
    result_site_set(&site);
    assert_int_equal(pthread_create(&thread, NULL, on_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(site.rc, 0);
    result_site_set(NULL);
}
