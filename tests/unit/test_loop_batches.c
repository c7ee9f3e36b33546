/* Entries that are written in batches: which entries go together, what a refusal does to the
 * others, entries that give up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "loop/background.h"
#include "loop/batches.h"
#include "loop/loop.h"

enum { BAD = 71, DOWN = 72, OVER = 73, ENTRIES = 16 };

struct one {
    struct batch_entry entry;
    struct task task;
    int64_t owner;
    char name;
    bool bad, over;
    int rc;
};

static struct one ones[ENTRIES];
static struct arena *arena;
static unsigned running;
static char trail[256]; /* the names of the entries of each write */
static unsigned under_way, most_under_way;
static int fails; /* number of writes that find the store down */
static bool names_culprit;
static void (*meanwhile)(void); /* called once, while the first write is under way */

static const struct one *one_of(const struct batch_entry *entry)
{
    return CONTAINER_OF(entry, const struct one, entry);
}

static int by_name(const void *left, const void *right)
{
    return one_of(*(struct batch_entry *const *)left)->name -
           one_of(*(struct batch_entry *const *)right)->name;
}

static int over(const struct batch_entry *entry)
{
    return one_of(entry)->over ? OVER : 0;
}

static int
write_all(struct task *task, struct batch_entry **entries, size_t count, size_t *ret_failed)
{
    int rc = 0;

    for (size_t i = 0; i < count; i++)
        strncat(trail, &one_of(entries[i])->name, 1);
    strcat(trail, " ");
    if (++under_way > most_under_way)
        most_under_way = under_way;
    (void)!task_sleep(task, 5);
    if (meanwhile)
        meanwhile();
    meanwhile = NULL;
    (void)!task_sleep(task, 5);
    under_way--;
    if (fails > 0) {
        fails--;
        return DOWN;
    }
    for (size_t i = count; i-- > 0;) {
        if (!one_of(entries[i])->bad)
            continue;
        rc = BAD;
        if (names_culprit)
            *ret_failed = i;
    }
    return rc;
}

static enum batch_end judge(int rc)
{
    return rc == BAD ? BATCH_REFUSED : rc == DOWN ? BATCH_AGAIN : BATCH_ENDED;
}

static struct batches batches;

static int setup(void **state UNUSED)
{
    loop_init();
    arena = arena_new(0);
    memset(ones, 0, sizeof(ones));
    for (size_t i = 0; i < ENTRIES; i++)
        ones[i].name = (char)('a' + i);
    batches = (struct batches){
        .at_once = 1,
        .max_entries = 8,
        .bytes = 1000,
        .limit_ms = 60000,
        .pause = {.first_ms = 1, .most_ms = 2},
        .order = by_name,
        .expired_rc = over,
        .write = write_all,
        .judge = judge,
    };
    trail[0] = '\0';
    running = under_way = most_under_way = 0;
    fails = 0;
    names_culprit = false;
    meanwhile = NULL;
    return 0;
}

static int teardown(void **state UNUSED)
{
    assert_int_equal(map_size(batches.queues), 0);
    map_free(batches.queues);
    arena_free(arena);
    return 0;
}

static void on_background_ended(void *arg)
{
    (void)arg;
    loop_stop();
}

static void run_one(struct task *task, void *arg)
{
    struct one *one = arg;

    one->rc = batches_write(task, &batches, one->owner, &one->entry);
    if (--running == 0)
        background_wait(on_background_ended, NULL);
}

/* Starts the entries in this order, all in the same tick. */
static void run_ones(const char *names)
{
    for (const char *name = names; *name != '\0'; name++) {
        struct one *one = &ones[*name - 'a'];
        one->task.arena = arena;
        running++;
        task_start(&one->task, run_one, one);
    }
}

TEST_WITH(test_a_turns_entries_leave_together, setup, teardown)
{
    run_ones("cab");
    loop_run();
    assert_string_equal(trail, "abc ");
    assert_int_equal(ones[0].rc, 0);
}

TEST_WITH(test_bounds_of_a_batch, setup, teardown)
{
    ones[0].entry.bytes = 2000; /* a batch has at least one entry */
    ones[1].entry.bytes = 600;
    ones[2].entry.bytes = 600;
    batches.max_entries = 2;
    run_ones("abcde");
    loop_run();
    assert_string_equal(trail, "a b cd e ");
}

TEST_WITH(test_batches_under_way, setup, teardown)
{
    batches.max_entries = 1;
    batches.at_once = 2;
    ones[5].owner = 7;
    run_ones("abcdef");
    loop_run();
    assert_int_equal(most_under_way, 3); /* two of one owner and one of the other */
    assert_int_equal(strlen(trail), 12);
}

TEST_WITH(test_a_refusal_that_is_known_to_be_one_entrys, setup, teardown)
{
    names_culprit = true;
    ones[1].bad = ones[3].bad = true;
    run_ones("abcde");
    loop_run();
    assert_string_equal(trail, "abcde acde ace ");
    assert_int_equal(ones[1].rc, BAD);
    assert_int_equal(ones[3].rc, BAD);
    assert_int_equal(ones[0].rc + ones[2].rc + ones[4].rc, 0);
}

TEST_WITH(test_a_refusal_of_any_of_them, setup, teardown)
{
    ones[2].bad = true;
    run_ones("abcdefgh");
    loop_run();
    assert_string_equal(trail, "abcdefgh abcd ab cdef cd c de fgh ");
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(ones[i].rc, i == 2 ? BAD : 0);
}

TEST_WITH(test_a_store_that_is_down, setup, teardown)
{
    fails = 3;
    run_ones("ab");
    loop_run();
    assert_string_equal(trail, "ab ab ab ab ");
    assert_int_equal(ones[0].rc + ones[1].rc, 0);
}

static void end_some(void)
{
    ones[0].over = ones[4].over = true;
}

/* Entries that give up leave a batch that is repeated, and the batches that wait after it. */
TEST_WITH(test_entries_that_may_not_wait, setup, teardown)
{
    fails = 3;
    batches.max_entries = 3;
    meanwhile = end_some;
    run_ones("abcde");
    loop_run();
    assert_string_equal(trail, "abc bc bc bc d ");
    assert_int_equal(ones[0].rc, OVER);
    assert_int_equal(ones[4].rc, OVER);
    assert_int_equal(ones[1].rc + ones[2].rc + ones[3].rc, 0);
}

static void cancel_two(void)
{
    task_cancel(&ones[0].task);
    task_cancel(&ones[1].task);
}

static void cancel_while_first_is_written(const char *written)
{
    batches.max_entries = 1;
    meanwhile = cancel_two;
    run_ones("abc");
    loop_run();
    assert_string_equal(trail, written);
    assert_int_equal(ones[0].rc, 0);
    assert_int_equal(ones[2].rc, 0);
}

TEST_WITH(test_who_waits_for_its_turn_may_leave, setup, teardown)
{
    cancel_while_first_is_written("a c ");
    assert_int_equal(ones[1].rc, -ECANCELED);
}

TEST_WITH(test_who_stays_is_written, setup, teardown)
{
    batches.is_uninterruptible = true;
    cancel_while_first_is_written("a b c ");
    assert_int_equal(ones[1].rc, 0);
}

static void cancel_writes(void *arg)
{
    (void)arg;
    background_cancel();
}

/* A store that stays down does not keep a process from ending. */
TEST_WITH(test_a_write_that_is_cancelled, setup, teardown)
{
    struct loop_timer timer;

    fails = 1000000;
    loop_timer_init(&timer, cancel_writes, NULL);
    loop_timer_start(&timer, 20);
    run_ones("ab");
    loop_run();
    assert_int_equal(ones[0].rc, DOWN);
    assert_int_equal(ones[1].rc, DOWN);
}
