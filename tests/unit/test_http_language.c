/* Accept-Language: weights, order, and which of our tags fits best. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit.h"

#include "base/result.h"
#include "http/language.h"

static const struct str tags[] = {
    STR_INIT("de"), STR_INIT("en"), STR_INIT("pt-BR"), STR_INIT("zh-Hant")};

static int pick(const char *header)
{
    struct languages languages;

    languages_parse(str_from(header), &languages);
    return languages_pick(&languages, tags, ARRAY_LEN(tags));
}

TEST(test_order)
{
    assert_int_equal(pick("en"), 1);
    assert_int_equal(pick("de;q=0.5, en"), 1);
    assert_int_equal(pick("en;q=0.5, de;q=0.5"), 1);
    assert_int_equal(pick("en;q=0.499, de;q=0.5"), 0);
    assert_int_equal(pick("fr, DE-at;q=0.9, en;q=0.8"), 0);
    assert_int_equal(pick("en;q=0, de;q=0.001"), 0);
    assert_int_equal(pick("en ; q=1.000 , de"), 1);
}

TEST(test_ranges)
{
    assert_int_equal(pick("pt"), 2);
    assert_int_equal(pick("pt-PT"), -1);
    assert_int_equal(pick("zh-hant-x-TW"), 3);
    assert_int_equal(pick("fr, *;q=0.1"), 0);
    assert_int_equal(pick("d"), -1);
    assert_int_equal(pick("deu"), -1);
}

TEST(test_nonsense)
{
    static const char *const headers[] = {
        "",
        ",",
        ";;;",
        "en;q=2",
        "en;q=",
        "en;q=a",
        "en;q=1.5",
        "en;q=0.12345",
        "en;x=1",
        "-",
        "e\xC3\xA9",
        "en--us",
        "toolongsubtag",
        "en;q=00",
        "en;q=.5,5;q",
    };
    struct languages languages;

    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        if (pick(headers[i]) != -1)
            fail_msg("%s", headers[i]);
    languages_parse(STR_NONE, &languages);
    assert_int_equal(languages.count, 0);
    assert_int_equal(languages_pick(&languages, tags, 0), -1);
    languages_parse(STR("a1,a2,a3,a4,a5,a6,a7,a8,a9,b1,b2,b3,b4,b5,b6,b7,en"), &languages);
    assert_int_equal(languages.count, LANGUAGES_MAX);
}

TEST(test_tags)
{
    assert_true(languages_tag_is_valid(STR("de")) && languages_tag_is_valid(STR("zh-Hant-TW")));
    assert_false(languages_tag_is_valid(STR("")) || languages_tag_is_valid(STR("d")) ||
                 languages_tag_is_valid(STR("de-")) || languages_tag_is_valid(STR("-de")) ||
                 languages_tag_is_valid(STR("de_DE")) ||
                 languages_tag_is_valid(STR("de-ninechars")));
}
