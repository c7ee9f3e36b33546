/* Members of objects as they occur in the text, compared with the reader's result for the same
 * text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "json/jr.h"
#include "json/members.h"

TEST(members_are_those_of_the_tree)
{
    static const char *const texts[] = {
        "{}",
        " { } ",
        "{\"a\":1}",
        "{\"a\":1,\"b\":[1,{\"c\":\"]}\"}],\"d\":{\"e\":{}},\"f\":null}",
        "\n{ \"a\" : \"x\\\"}\" , \"\" : -1.5e3\t, \"b\":true}\n",
        "{\"\\\\\":\"\\\\\",\"\\u00e9\\n\":[[]],\"a\\\"b\":\"\\\\\\\"\"}",
        "{\"\\u0061\":{\"\\u0062\":1},\"\xC3\xA9\":false}",
        "[{\"a\":1}]",
        "\"{\"",
        "7",
    };
    struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct json_members members = json_members_of(str_from(texts[i]));
        struct json_member member;
        struct jr_error error;
        json_t *tree;
        json_t *value;
        size_t count = 0;
        assert_int_equal(jr_parse(arena, str_from(texts[i]), &tree, &error), 0);
        for (; json_members_next(&members, &member); count++) {
            struct str key = json_text_decode(arena, member.key);
            assert_int_equal(jr_parse(arena, member.value, &value, &error), 0);
            assert_true(json_equal(value, json_object_getn(tree, key.ptr, key.len)));
        }
        assert_int_equal(count, json_object_size(tree));
    }
    arena_free(arena);
}

TEST(one_member_is_found)
{
    const struct str text = STR("{\"a\":{\"\\u0062\":1},\"b\": [2] ,\"c\":\"b\"}");
    struct arena *arena = arena_new(0);

    assert_true(str_is(json_member_find(arena, text, "b"), "[2]"));
    assert_true(str_is(json_member_find(arena, json_member_find(arena, text, "a"), "b"), "1"));
    assert_null(json_member_find(arena, text, "d").ptr);
    assert_null(json_member_find(arena, STR_NONE, "d").ptr);
    arena_free(arena);
}
