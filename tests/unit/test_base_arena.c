/* common/core/base: memory (arena, strbuf, map), result codes, lists. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit.h"

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "base/panic.h"
#include "base/strbuf.h"

#define assert_str(s, text) assert_true(str_is((s), (text)))

/* --- arena --- */

TEST(arena_aligns_and_zeroes)
{
    struct arena *arena = arena_new(0);

    for (size_t bytes = 0; bytes < 9000; bytes = bytes * 2 + 1) {
        unsigned char *memory = arena_zalloc(arena, bytes);
        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 0xff, bytes);
    }
    arena_free(arena);
    arena_free(NULL);
}

TEST(arena_allocations_do_not_overlap)
{
    struct arena *arena = arena_new(256);
    unsigned char *all[200];

    for (unsigned i = 0; i < 200; i++) {
        all[i] = arena_alloc(arena, i * 7);
        memset(all[i], (int)i, i * 7);
    }
    for (unsigned i = 0; i < 200; i++) {
        for (unsigned k = 0; k < i * 7; k++)
            assert_int_equal(all[i][k], i);
    }
    arena_free(arena);
}

TEST(arena_reset_keeps_first_block_only)
{
    struct arena *arena = arena_new(0);
    size_t held = arena_held_bytes(arena);

    assert_int_equal(arena_used_bytes(arena), 0);
    arena_alloc(arena, 100);
    assert_in_range(arena_used_bytes(arena), 100, 112);
    arena_alloc(arena, 1000000);
    assert_in_range(arena_used_bytes(arena), 1000100, 1000200);
    assert_true(arena_held_bytes(arena) >= 1000000);
    arena_reset(arena);
    assert_int_equal(arena_used_bytes(arena), 0);
    assert_int_equal(arena_held_bytes(arena), held);
    arena_free(arena);
}

struct cleanup_log {
    struct arena *arena;
    char text[16];
    size_t len;
};

struct cleanup_item {
    struct cleanup_log *log;
    char mark;
};

static void note_cleanup(void *ptr)
{
    struct cleanup_item *item = ptr;
    item->log->text[item->log->len++] = item->mark;
}

static void defer_another(void *ptr)
{
    struct cleanup_item *item = ptr;
    note_cleanup(ptr);
    arena_defer(item->log->arena, note_cleanup, item + 1);
}

TEST(arena_cleanups_run_last_first)
{
    struct cleanup_log log = {.arena = arena_new(0)};
    struct cleanup_item items[] = {{&log, 'a'}, {&log, 'b'}, {&log, 'c'}, {&log, 'd'}};

    arena_defer(log.arena, note_cleanup, &items[0]);
    arena_defer(log.arena, note_cleanup, &items[1]);
    arena_defer(log.arena, defer_another, &items[2]);
    arena_reset(log.arena);
    assert_string_equal(log.text, "cdba");
    arena_reset(log.arena);
    assert_int_equal(log.len, 4);
    arena_defer(log.arena, note_cleanup, &items[0]);
    arena_free(log.arena);
    assert_string_equal(log.text, "cdbaa");
}

TEST(arena_texts)
{
    struct arena *arena = arena_new(0);
    struct str text;

    text = arena_dup(arena, (struct str){"a\0b", 3});
    assert_int_equal(text.len, 3);
    assert_memory_equal(text.ptr, "a\0b", 4);
    assert_non_null(arena_dup(arena, STR_NONE).ptr);
    assert_string_equal(arena_strdup(arena, "x"), "x");
    assert_string_equal(arena_cstr(arena, (struct str){"abcdef", 3}), "abc");
    assert_str(arena_printf(arena, "%d-%s", 7, "y"), "7-y");
    text = arena_printf(arena, "%0*d", 5000, 1);
    assert_int_equal(text.len, 5000);
    assert_int_equal(text.ptr[4999], '1');
    assert_int_equal(strlen(text.ptr), 5000);
    arena_free(arena);
}

/* Runs `fn` in a child; returns true when it ended by abort() with `message` on stderr. */
static bool aborts_with(void (*fn)(void), const char *message)
{
    char text[4096] = "";
    size_t used = 0;
    ssize_t got;
    int fds[2];
    int status;

    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(fds[1], STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        fn();
        _exit(0);
    }
    (void)close(fds[1]);
    while ((got = read(fds[0], text + used, sizeof(text) - 1 - used)) > 0)
        used += (size_t)got;
    (void)close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(text, message);
}

static void overflow_array(void)
{
    struct arena *arena = arena_new(0);
    volatile size_t count = SIZE_MAX / 2;
    uint64_t *items = ARENA_ARRAY(arena, items, count);
    (void)items;
}

static void overflow_alloc(void)
{
    struct arena *arena = arena_new(0);
    volatile size_t bytes = SIZE_MAX - 3;
    (void)arena_alloc(arena, bytes);
}

static void say_bye(void)
{
    (void)!write(STDERR_FILENO, "bye ", 4);
}

static void panic_with_hook(void)
{
    panic_hook_set(say_bye);
    PANIC("out of %s", "luck");
}

TEST(panics_are_loud)
{
    assert_true(aborts_with(overflow_array, "broken invariant"));
    assert_true(aborts_with(overflow_alloc, "broken invariant"));
    assert_true(aborts_with(panic_with_hook, "bye panic: out of luck (tests/unit/"));
}

/* --- strbuf --- */

TEST(strbuf_appends)
{
    struct arena *arena = arena_new(0);
    struct strbuf buf;

    strbuf_init(&buf, arena, 1000);
    assert_string_equal(strbuf_cstring(&buf), "");
    assert_int_equal(strbuf_view(&buf).len, 0);
    strbuf_str(&buf, STR_NONE);
    strbuf_printf(&buf, "%s", "");
    strbuf_printf(&buf, "<%d>", 42);
    strbuf_char(&buf, ' ');
    strbuf_cstr(&buf, "and ");
    strbuf_i64(&buf, INT64_MIN);
    strbuf_str(&buf, STR("."));
    strbuf_printf(&buf, "%0*d", 500, 0);
    assert_false(buf.overflow);
    assert_int_equal(buf.len, 4 + 1 + 4 + 20 + 1 + 500);
    assert_memory_equal(buf.ptr, "<42> and -9223372036854775808.000", 33);
    assert_int_equal(strlen(strbuf_cstring(&buf)), buf.len);
    arena_free(arena);
}

TEST(strbuf_maximum_is_exact_and_sticks)
{
    struct arena *arena = arena_new(0);
    struct strbuf buf;

    for (size_t max = 0; max < 600; max += 37) {
        strbuf_init(&buf, arena, max);
        for (size_t i = 0; i < max; i++)
            strbuf_char(&buf, 'x');
        assert_false(buf.overflow);
        assert_int_equal(strlen(strbuf_cstring(&buf)), max);
        strbuf_char(&buf, 'y');
        assert_true(buf.overflow);
        assert_int_equal(buf.len, max);
    }
    strbuf_init(&buf, arena, 10);
    strbuf_cstr(&buf, "12345");
    strbuf_printf(&buf, "%s", "678901");
    assert_true(buf.overflow);
    strbuf_char(&buf, 'z'); /* would fit, but the text is already incomplete */
    assert_true(buf.overflow);
    assert_false(strbuf_reserve(&buf, 0));
    assert_int_equal(buf.len, 5);
    assert_string_equal(strbuf_cstring(&buf), "12345");
    strbuf_init(&buf, arena, 10);
    assert_false(strbuf_reserve(&buf, SIZE_MAX));
    arena_free(arena);
}

/* --- map --- */

TEST(map_basics)
{
    struct map *map = map_new();
    char key[] = "key";
    int one;
    int two;

    assert_null(map_get(map, STR("key")));
    assert_null(map_put(map, str_from(key), &one));
    key[0] = 'X'; /* the map has its own copy */
    assert_ptr_equal(map_get(map, STR("key")), &one);
    assert_null(map_get(map, STR("ke")));
    assert_null(map_get(map, STR("Key")));
    assert_ptr_equal(map_put(map, STR("key"), &two), &one);
    assert_int_equal(map_size(map), 1);
    assert_null(map_put(map, STR_NONE, &one));
    assert_ptr_equal(map_get(map, STR("")), &one);
    assert_null(map_put(map, (struct str){"a\0b", 3}, &one));
    assert_null(map_get(map, (struct str){"a\0c", 3}));
    assert_ptr_equal(map_remove(map, STR("key")), &two);
    assert_null(map_remove(map, STR("key")));
    assert_int_equal(map_size(map), 2);
    map_free(map);
    map_free(NULL);
}

#define MANY 3000U

/* Every key is added and removed several times, so that graves, sweeps and growth all happen. */
TEST(map_survives_churn)
{
    struct map *map = map_new();
    static char values[MANY];
    static bool present[MANY];
    char text[16];
    size_t size = 0;
    uint32_t dice = 12345;

    for (unsigned step = 0; step < 60000; step++) {
        dice = dice * 1664525U + 1013904223U;
        unsigned i = (dice >> 8U) % MANY;
        struct str key = {text, (size_t)snprintf(text, sizeof(text), "key-%u", i)};
        if ((dice >> 24U) % 2 == 0) {
            assert_ptr_equal(map_put(map, key, &values[i]), present[i] ? &values[i] : NULL);
            size += !present[i];
            present[i] = true;
        } else {
            assert_ptr_equal(map_remove(map, key), present[i] ? &values[i] : NULL);
            size -= present[i];
            present[i] = false;
        }
        assert_int_equal(map_size(map), size);
    }
    for (unsigned i = 0; i < MANY; i++) {
        struct str key = {text, (size_t)snprintf(text, sizeof(text), "key-%u", i)};
        assert_ptr_equal(map_get(map, key), present[i] ? &values[i] : NULL);
    }
    map_free(map);
}

static int with_arena(void **state UNUSED)
{
    *state = arena_new(0);
    return 0;
}

static int without_arena(void **state UNUSED)
{
    arena_free(*state);
    return 0;
}

TEST_WITH(map_iterates_while_removing, with_arena, without_arena)
{
    struct map *map = map_new();
    static char values[500];
    bool seen[500] = {false};
    char text[16];
    size_t cursor = 0;
    size_t count = 0;
    struct str key;
    void *value;

    for (unsigned i = 0; i < 500; i++) {
        key = (struct str){text, (size_t)snprintf(text, sizeof(text), "%u", i)};
        map_put(map, key, &values[i]);
    }
    while (map_next(map, &cursor, &key, &value)) {
        size_t index = (size_t)((char *)value - values);
        assert_false(seen[index]);
        seen[index] = true;
        count++;
        if (index % 2 == 0)
            assert_ptr_equal(map_remove(map, arena_dup(*state, key)), value);
    }
    assert_int_equal(count, 500);
    assert_int_equal(map_size(map), 250);
    map_free(map);
}

/* --- list --- */

TEST(list_removal_is_idempotent)
{
    struct list head;
    struct list nodes[3];
    int count = 0;

    list_init(&head);
    assert_true(list_empty(&head));
    assert_null(list_shift(&head));
    for (int i = 0; i < 3; i++)
        list_append(&head, &nodes[i]);
    list_remove(&nodes[1]);
    list_remove(&nodes[1]);
    LIST_FOR (it, &head) {
        assert_ptr_equal(it, &nodes[count * 2]);
        list_remove(it);
        count++;
    }
    assert_int_equal(count, 2);
    assert_true(list_empty(&head));
}

/* Arrays grow until their allocation has a block of its own, which grows in place. */
TEST(arena_arrays_grow)
{
    struct arena *arena = arena_new(0);
    struct {
        uint64_t *items;
        size_t count, cap;
    } list = {0};

    for (uint64_t i = 0; i < 100000; i++)
        ARENA_PUSH(arena, list.items, list.count, list.cap, i * i);
    assert_int_equal(list.count, 100000);
    for (uint64_t i = 0; i < list.count; i++)
        assert_int_equal(list.items[i], i * i);
    arena_free(arena);
}

TEST(test_lower_and_upper)
{
    struct arena *arena = arena_new(0);
    struct str text = arena_lower(arena, STR("A@[Zaz\xc3\x84 9"));
    assert_string_equal(text.ptr, "a@[zaz\xc3\x84 9");
    assert_int_equal(text.len, 10);
    assert_int_equal(arena_lower(arena, STR_NONE).len, 0);
    assert_string_equal(arena_upper(arena, STR("A@[`{zaz\xc3\xa4 9")).ptr, "A@[`{ZAZ\xc3\xa4 9");
    arena_free(arena);
}
