/* Faults of the bus: consumers that die, entries that no handler accepts, and a Redis that loses
 * its data, is full, does not answer or is gone. */
#include "unit.h"

#include "bus_test.h"

/* Reads entries as a consumer that never returns. */
static void read_as_ghost(struct task *task, struct redis *redis, int partition)
{
    struct str words = arena_printf(
        task->arena, "XREADGROUP GROUP tests ghost COUNT 100 STREAMS evt:{p%d} >", partition);

    assert_int_equal(ask(task, redis, words.ptr), 1);
}

/* --- a consumer died --- */

static void claims(struct task *task, struct redis *redis)
{
    static struct subscriber subscriber;
    struct bus *producer = bus_new(redis);

    make_groups(task, redis, "evt", "tests");
    for (int i = 0; i < 64; i++)
        notify(producer, i);
    WAIT_FOR(task, entries_left(task, redis, "evt", false) == 64);
    for (int i = 0; i < BUS_PARTITIONS; i++)
        read_as_ghost(task, redis, i);
    /* An entry of the ghost is deleted before it is claimed. */
    struct redis_reply reply;
    assert_int_equal(
        redis_cmd(
            task, redis, &reply, REDIS_ARGS(STR("XRANGE"), STR("evt:{p5}"), STR("-"), STR("+"))),
        0);
    assert_int_equal(reply.count, 4);
    struct str id = reply.items[2].items[0].text;
    assert_int_equal(redis_cmd(task, redis, NULL, REDIS_ARGS(STR("XDEL"), STR("evt:{p5}"), id)), 0);

    int64_t start_ms = clock_mono_ms();
    struct bus *bus = start_bus(redis, &subscriber, 300);
    wait_received(task, &subscriber, 63);
    print_message("claimed after %lld ms\n", (long long)(clock_mono_ms() - start_ms));
    WAIT_FOR(task, entries_left(task, redis, "evt", false) == 0);
    assert_int_equal(subscriber.received, 63);
    assert_int_equal(subscriber.most_deliveries, 2);
    assert_int_equal(bus_stats(bus)->reclaimed, 63);
    assert_int_equal(bus_stats(bus)->lost, 1);
    assert_int_equal(bus_stats(bus)->acked, 63);
    end_bus(task, bus);
    bus_free(producer);
}

TEST_WITH(test_claims, with_redis, without_redis)
{
    run(claims);
}

/* Claimed entries are handled slowly, and entries that are published during that time follow
 * directly after them. Only the best of some rounds counts, because a busy machine spoils a few. */
static void claims_slowly(struct task *task, struct redis *redis)
{
    static struct subscriber subscriber;
    struct bus *producer = bus_new(redis);
    int64_t best_us = INT64_MAX;

    make_groups(task, redis, "evt", "tests");
    for (int round = 0; round < 5; round++) {
        notify(producer, 3);
        WAIT_FOR(task, ask(task, redis, "XLEN evt:{p3}") == 1);
        read_as_ghost(task, redis, 3);
        struct bus *bus = start_bus(redis, &subscriber, 200);
        wait_up(task, bus, true);
        subscriber.hold = true;
        WAIT_FOR(task, subscriber.calls == 1);
        notify(bus, 19); /* the same partition */
        pause_ms(task, 100);
        assert_int_equal(subscriber.calls, 1);
        subscriber.hold = false;
        int64_t freed_us = clock_mono_us();
        wait_received(task, &subscriber, 2);
        int64_t took_us = subscriber.last_us - freed_us;
        best_us = took_us < best_us ? took_us : best_us;
        assert_int_equal(subscriber.most_running, 1);
        assert_int_equal(subscriber.last.deliveries, 1);
        WAIT_FOR(task, entries_left(task, redis, "evt", false) == 0);
        end_bus(task, bus);
    }
    print_message("behind a claimed entry after %lld us\n", (long long)best_us);
    assert_in_range(best_us, 0, allowed(60000));
    bus_free(producer);
}

TEST_WITH(test_claims_slowly, with_redis, without_redis)
{
    run(claims_slowly);
}

/* --- a handler that fails, a few times or always --- */

static void repeats(struct task *task, struct redis *redis)
{
    static struct subscriber subscriber;
    struct bus *bus = start_bus(redis, &subscriber, 100);

    wait_up(task, bus, true);
    subscriber.fail_first = 20;
    for (int i = 0; i < 320; i++)
        notify(bus, i);
    wait_received(task, &subscriber, 320);
    pause_ms(task, 200);
    for (int i = 0; i < 320; i++)
        assert_int_equal(subscriber.seen[i], 1);
    assert_true(subscriber.most_deliveries >= 2);
    assert_true(bus_stats(bus)->failed > 0);
    assert_int_equal(bus_stats(bus)->dead, 0);
    end_bus(task, bus);
}

TEST_WITH(test_repeats, with_redis, without_redis)
{
    run(repeats);
}

static struct str field(const struct redis_reply *entry, const char *name)
{
    const struct redis_reply *fields = &entry->items[1];

    for (size_t i = 0; i + 1 < fields->count; i += 2) {
        if (str_is(fields->items[i].text, name))
            return fields->items[i + 1].text;
    }
    return STR_NONE;
}

static void goes_to_dead_letters(struct task *task, struct redis *redis)
{
    static struct subscriber subscriber;
    struct bus *bus = start_bus(redis, &subscriber, 60);
    struct redis_reply dead;

    wait_up(task, bus, true);
    subscriber.rc = 1;
    notify(bus, 2);
    WAIT_FOR(task, bus_stats(bus)->dead == 1);
    assert_int_equal(subscriber.calls, 4); /* max_deliveries of start_bus() */
    assert_int_equal(subscriber.most_deliveries, 4);
    assert_int_equal(redis_cmd(task,
                               redis,
                               &dead,
                               REDIS_ARGS(STR("XRANGE"), STR("evt:dead:{p2}"), STR("-"), STR("+"))),
                     0);
    assert_int_equal(dead.count, 1);
    assert_true(str_is(field(&dead.items[0], "reason"), "delivered too often"));
    assert_true(str_is(field(&dead.items[0], "group"), "tests"));
    assert_true(str_is(field(&dead.items[0], "deliveries"), "5"));
    assert_true(field(&dead.items[0], "id").len > 0);

    /* A dead letter that is added to the stream again is an entry like any other. */
    subscriber.rc = 0;
    assert_int_equal(
        redis_cmd(
            task,
            redis,
            NULL,
            REDIS_ARGS(
                STR("XADD"), STR("evt:{p2}"), STR("*"), STR("e"), field(&dead.items[0], "e"))),
        0);
    wait_received(task, &subscriber, 1);
    assert_int_equal(subscriber.last.row_id, 2);
    assert_string_equal(subscriber.id, "e2");

    /* Malformed entries become dead letters immediately and delay no other entry. */
    (void)ask(task, redis, "XADD evt:{p3} * e nonsense");
    (void)ask(task, redis, "XADD evt:{p3} * project 7");
    notify(bus, 3);
    char *large = arena_zalloc(task->arena, 1000000);
    assert_int_equal(
        redis_cmd(
            task,
            redis,
            NULL,
            REDIS_ARGS(
                STR("XADD"), STR("evt:{p3}"), STR("*"), STR("e"), ((struct str){large, 1000000}))),
        0);
    static struct str many[4003] = {STR_INIT("XADD"), STR_INIT("evt:{p3}"), STR_INIT("*")};
    for (size_t i = 3; i < ARRAY_LEN(many); i++)
        many[i] = STR("f");
    assert_int_equal(redis_cmd(task, redis, NULL, ARRAY_LEN(many), many), 0);
    wait_received(task, &subscriber, 2);
    WAIT_FOR(task, bus_stats(bus)->dead == 5);
    assert_int_equal(ask(task, redis, "XLEN evt:dead:{p3}"), 4);
    WAIT_FOR(task, entries_left(task, redis, "evt", false) == 0);
    end_bus(task, bus);
}

TEST_WITH(test_goes_to_dead_letters, with_redis, without_redis)
{
    run(goes_to_dead_letters);
}

/* --- trimming --- */

static void trims(struct task *task, struct redis *redis)
{
    static struct subscriber subscriber;
    static struct subscriber late;

    make_groups(task, redis, "evt", "late"); /* no consumer of this group reads yet */
    struct bus *bus = start_bus(redis, &subscriber, 100);
    wait_up(task, bus, true);
    for (int i = 0; i < 400; i++)
        notify(bus, i);
    wait_received(task, &subscriber, 400);
    pause_ms(task, 300);
    assert_int_equal(entries_left(task, redis, "evt", false), 400);

    /* A consumer of the group starts, but an entry of one partition stays with a consumer that
     * never finishes it. */
    struct bus *second = bus_new(redis);
    const struct bus_consumer consumer = {
        .topic = BUS_EVT, .group = "late", .handle = on_entries, .arg = &late, .retry_ms = 100000};
    assert_int_equal(ask(task, redis, "XREADGROUP GROUP late ghost COUNT 1 STREAMS evt:{p7} >"), 1);
    memset(&late, 0, sizeof(late));
    bus_consume(second, &consumer);
    wait_received(task, &late, 399);
    WAIT_FOR(task, entries_left(task, redis, "evt", false) == 25); /* all of p7 */
    assert_int_equal(ask(task, redis, "XLEN evt:{p7}"), 25);
    end_bus(task, second);
    assert_int_equal(ask(task, redis, "XINFO CONSUMERS evt:{p7} late"),
                     1); /* the ghost stays because it has an unfinished entry */
    for (int i = 0; i < BUS_PARTITIONS; i++)
        (void)ask(task, redis, arena_printf(task->arena, "XGROUP DESTROY evt:{p%d} late", i).ptr);
    WAIT_FOR(task, entries_left(task, redis, "evt", false) == 0);
    end_bus(task, bus);
}

TEST_WITH(test_trims, with_redis, without_redis)
{
    run(trims);
}

/* --- a Redis that loses its data --- */

static void forgets(struct task *task, struct redis *redis)
{
    static struct subscriber subscriber;
    struct bus *bus = start_bus(redis, &subscriber, 1000);
    int64_t next = 0;

    wait_up(task, bus, true);
    for (int round = 0; round < 6; round++) {
        unsigned begun = subscriber.received;
        uint64_t made = bus_stats(bus)->groups_created;
        for (int i = 0; i < 100; i++) {
            notify(bus, next++);
            if (i == 50)
                wait_received(task, &subscriber, begun + 51);
            if (i == 50 && round < 3)
                (void)ask(task, redis, "FLUSHALL");
            for (int k = 0; i == 50 && round >= 3 && k < BUS_PARTITIONS; k++)
                (void)ask(task,
                          redis,
                          arena_printf(task->arena, "XGROUP DESTROY evt:{p%d} tests", k).ptr);
            pause_ms(task, 2);
        }
        /* Entries that are published from now on are received. */
        WAIT_FOR(task, bus_stats(bus)->groups_created >= made + BUS_PARTITIONS);
        pause_ms(task, 300);
        wait_up(task, bus, true);
        unsigned before = subscriber.received;
        int64_t start_ms = clock_mono_ms();
        for (int i = 0; i < 16; i++)
            notify(bus, next++);
        wait_received(task, &subscriber, before + 16);
        assert_took(start_ms, 0, 3000); /* less than a read blocks */
    }
    print_message("received %u of %lld, groups made %llu\n",
                  subscriber.received,
                  (long long)next,
                  (unsigned long long)bus_stats(bus)->groups_created);
    assert_true(subscriber.received > next / 2);
    assert_in_range(bus_stats(bus)->groups_created, 16, 16 * 12);

    /* A value of another type replaces one stream: the other fifteen partitions continue. */
    (void)ask(task, redis, "SET evt:{p4} x");
    pause_ms(task, 300);
    unsigned before = subscriber.received;
    for (int i = 0; i < 16; i++)
        notify(bus, 1000 + i);
    wait_received(task, &subscriber, before + 15);
    wait_up(task, bus, false); /* notifications are lost, so consumers poll */
    (void)ask(task, redis, "DEL evt:{p4}");
    wait_up(task, bus, true);
    notify(bus, 1004);
    wait_received(task, &subscriber, before + 16);
    end_bus(task, bus);
}

TEST_WITH(test_forgets, with_redis, without_redis)
{
    run(forgets);
}

/* --- a Redis that is full --- */

static void fills_up(struct task *task, struct redis *redis)
{
    static struct subscriber subscriber;
    struct bus *bus = start_bus(redis, &subscriber, 300);

    wait_up(task, bus, true);
    (void)ask(task, redis, "CONFIG SET maxmemory-policy noeviction");
    subscriber.hold = true;
    for (int i = 0; i < 160; i++)
        notify(bus, i);
    WAIT_FOR(task, entries_left(task, redis, "evt", false) == 160);
    (void)ask(task, redis, "CONFIG SET maxmemory 1");
    for (int i = 0; i < 10; i++)
        notify(bus, 500 + i);
    WAIT_FOR(task, bus_stats(bus)->dropped == 10);
    subscriber.hold = false;
    /* Entries that are already stored are read and removed all the same. */
    wait_received(task, &subscriber, 160);
    assert_true(bus_is_up(bus));
    WAIT_FOR(task, entries_left(task, redis, "evt", false) == 0);
    /* Redis has lost everything and has no memory for the groups either. */
    uint64_t made = bus_stats(bus)->groups_created;
    (void)ask(task, redis, "FLUSHALL");
    pause_ms(task, 500);
    (void)ask(task, redis, "CONFIG SET maxmemory 0");
    WAIT_FOR(task, bus_stats(bus)->groups_created >= made + BUS_PARTITIONS);
    wait_up(task, bus, true);
    notify(bus, 600);
    wait_received(task, &subscriber, 161);
    end_bus(task, bus);
}

TEST_WITH(test_fills_up, with_redis, without_redis)
{
    run(fills_up);
}

/* --- a Redis that does not answer, or is gone --- */

static void stops_answering(struct task *task, struct redis *redis)
{
    static struct subscriber subscriber;
    struct bus *bus = start_bus(redis, &subscriber, 0);

    wait_up(task, bus, true);
    (void)kill(redis_pid, SIGSTOP);
    int64_t start_ms = clock_mono_ms();
    for (int i = 0; i < 10; i++)
        notify(bus, i);
    wait_up(task, bus, false);
    print_message("timeout noticed after %lld ms\n", (long long)(clock_mono_ms() - start_ms));
    assert_took(start_ms, 500, 4000);
    pause_ms(task, 7000); /* by now the blocked read has noticed, too */
    assert_false(bus_is_up(bus));
    (void)kill(redis_pid, SIGCONT);
    start_ms = clock_mono_ms();
    wait_up(task, bus, true);
    print_message("up again after %lld ms\n", (long long)(clock_mono_ms() - start_ms));
    unsigned before = subscriber.received;
    notify(bus, 50);
    wait_received(task, &subscriber, before + 1);
    end_bus(task, bus);
}

TEST_WITH(test_stops_answering, with_redis, without_redis)
{
    run(stops_answering);
}

static void restarts(struct task *task, struct redis *redis)
{
    static struct subscriber subscriber;
    struct bus *bus = start_bus(redis, &subscriber, 0);

    wait_up(task, bus, true);
    for (int round = 1; round <= 2; round++) {
        redis_stop();
        wait_up(task, bus, false);
        for (int i = 0; i < 10; i++)
            notify(bus, i);
        WAIT_FOR(task, bus_stats(bus)->dropped == 10U * (unsigned)round);
        (void)redis_start(); /* empty */
        int64_t start_ms = clock_mono_ms();
        wait_up(task, bus, true);
        print_message("up again after %lld ms\n", (long long)(clock_mono_ms() - start_ms));
        unsigned before = subscriber.received;
        for (int i = 0; i < 16; i++)
            notify(bus, i);
        wait_received(task, &subscriber, before + 16);
    }
    /* The bus survives connections that are cut and blocked reads that are ended. */
    (void)ask(task, redis, "CLIENT KILL TYPE normal SKIPME yes");
    pause_ms(task, 1500);
    wait_up(task, bus, true);
    unsigned before = subscriber.received;
    notify(bus, 1);
    wait_received(task, &subscriber, before + 1);
    for (int id = 1; id < 40; id++)
        (void)ask(task, redis, arena_printf(task->arena, "CLIENT UNBLOCK %d ERROR", id).ptr);
    pause_ms(task, 500);
    wait_up(task, bus, true);
    notify(bus, 2);
    wait_received(task, &subscriber, before + 2);
    end_bus(task, bus);
}

TEST_WITH(test_restarts, with_redis, without_redis)
{
    run(restarts);
}
