/* Positions in the log of changes are parsed strictly, and printed as they were parsed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "live/live.h"

TEST(test_good_ones)
{
    static const char *const texts[] = {
        "1:1:",
        "10:20:10,14,19",
        "10:20:",
        "740:752:740,741~750:760:751~93",
        "740:752:740,741~750:760:751~-93",
        "1:9223372036854775807:~2:9223372036854775807:~9223372036854775807",
    };
    struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct live_position position;
        assert_true(live_position_parse(str_from(texts[i]), &position));
        assert_true(str_is(live_position_print(arena, &position), texts[i]));
    }
    arena_free(arena);
}

TEST(test_bad_ones)
{
    static const char *const texts[] = {
        "",
        "1",
        "1:1",
        "0:1:",
        "2:1:",
        "1:2:x",
        "10:20:9",
        "10:20:20",
        "10:20:12,11",
        "10:20:11,11",
        "10:20:11,",
        "10:20:,11",
        " 1:1:",
        "1:1: ",
        "-1:1:",
        "1:1::",
        "1:9223372036854775808:",
        "1:1:~",
        "1:1:~2:2:",
        "1:1:~2:2:~",
        "1:1:~2:2:~0",
        "1:1:~2:2:~-9223372036854775808",
        "1:1:~2:2:~1~",
        "1:1:~2:x:~1",
        "1:1:'; drop table x",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct live_position position = {.after_seq = -7};
        if (live_position_parse(str_from(texts[i]), &position) || position.after_seq != -7)
            fail_msg("%s", texts[i]);
    }
}
