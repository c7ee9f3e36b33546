/* The end of a daemon that works on queues. */
#include "bus/bus.h"
#include "loop/background.h"
#include "queue/queue.h"

#include "base/panic.h"

static struct {
    struct queue *queues[QUEUES_MAX];
    size_t count;
    int64_t last_call_ms; /* mono */
    loop_fn done;
    void *arg;
} ending;

static void end_on_drained(void *arg UNUSED)
{
    background_wait(ending.done, ending.arg);
}

static void end_on_bus_stopped(void *arg UNUSED)
{
    for (size_t i = ending.count - 1; i > 0; i--)
        queue_drain(ending.queues[i], ending.last_call_ms, NULL, NULL);
    queue_drain(ending.queues[0], ending.last_call_ms, end_on_drained, NULL);
}

void queues_end(struct bus *bus,
                struct queue *const *queues,
                size_t count,
                int64_t last_call_mono_ms,
                loop_fn done,
                void *arg)
{
    MUST(count > 0 && count <= QUEUES_MAX);
    for (size_t i = 0; i < count; i++) {
        queue_stop_sweeps(queues[i]);
        ending.queues[i] = queues[i];
    }
    ending.count = count;
    ending.last_call_ms = last_call_mono_ms;
    ending.done = done;
    ending.arg = arg;
    bus_stop(bus, end_on_bus_stopped, NULL);
}
