/* Passing entries on: what is rung is heard, once, soon, and then trimmed. */
#include "bus_test.h"

static struct bus_consumer evt(struct ear *ear)
{
    return (struct bus_consumer){
        .topic = BUS_EVT, .group = "tests", .handle = hear, .arg = ear, .retry_ms = 400};
}

static void passes(struct task *task, struct redis *redis)
{
    static struct ear ear;
    struct bus *bus = bus_new(redis);
    struct bus_consumer consumer = evt(&ear);

    bus_consume(bus, &consumer);
    assert_false(bus_up(bus));
    wait_up(task, bus, true, 1000);
    for (int i = 1; i <= 5; i++)
        bus_ring(bus,
                 BUS_EVT,
                 &(struct bus_bell){.project = 7, .partition = 3, .kind = "event.pending"});
    wait_heard(task, &ear, 1, 1000);
    assert_int_equal(ear.last.project, 7);
    assert_int_equal(ear.last.partition, 3);
    assert_int_equal(ear.last.deliveries, 1);
    assert_string_equal(ear.kind, "event.pending");
    assert_int_equal(bus_stats(bus)->rung, 5);
    assert_int_equal(bus_stats(bus)->coalesced, 4);

    int64_t worst_us = 0;
    int64_t sum_us = 0;
    for (int i = 0; i < 50; i++) {
        pause_ms(task, 10);
        int64_t start_us = clock_mono_us();
        ring(bus, 100 + i);
        wait_heard(task, &ear, 2 + (unsigned)i, 1000);
        int64_t took_us = ear.last_us - start_us;
        sum_us += took_us;
        if (took_us > worst_us)
            worst_us = took_us;
    }
    print_message("ring to handler: mean %lld us, worst %lld us\n",
                  (long long)sum_us / 50,
                  (long long)worst_us);
    assert_in_range(sum_us / 50, 1, 5000);
    pause_ms(task, 300);
    assert_int_equal(entries_left(task, redis, "evt", false), 0);
    assert_int_equal(bus_stats(bus)->acked, 51);
    end_bus(task, bus);
}

static void test_passes(void **state)
{
    (void)state;
    run(passes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_passes, with_redis, without_redis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
