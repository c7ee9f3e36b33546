/* gzip: how much of a body one call takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/gunzip.h"

/* A member of gzip that holds nothing, as `gzip < /dev/null` writes it. */
static const char empty_member[20] = {'\x1f', '\x8b', '\x08', 0, 0, 0, 0, 0, 0, '\x03',
                                      '\x03', 0,      0,      0, 0, 0, 0, 0, 0, 0};

/* Nothing comes of empty members, so a call ends by what it has read. */
static void test_a_call_takes_few_bytes(void **state)
{
    const size_t members = 50000;
    struct arena *arena = arena_new(0);
    char *body = arena_alloc(arena, members * sizeof(empty_member));
    struct gunzip *gunzip = gunzip_new(arena);
    struct str input = {body, members * sizeof(empty_member)};
    char out[64];
    size_t made;

    (void)state;
    for (size_t i = 0; i < members; i++)
        memcpy(body + i * sizeof(empty_member), empty_member, sizeof(empty_member));
    while (input.len > 0) {
        size_t before = input.len;
        assert_true(gunzip_some(gunzip, &input, out, sizeof(out), &made));
        assert_int_equal(made, 0);
        assert_in_range(before - input.len, 1, 16384);
    }
    assert_true(gunzip_is_whole(gunzip));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_takes_few_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
