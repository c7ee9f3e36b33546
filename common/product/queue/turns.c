/* The items of turns.h, their rings and timers. */
#include "queue/turns.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/panic.h"

#define RETRY_MS  500
#define FORGET_MS 300000
#define CHECKS    10 /* checks for idle items during turns_forget_ms() */

/* An item with its bookkeeping. */
struct turns_entry {
    int64_t idle_since_ms; /* mono; 0 = it was busy at the last check */
    max_align_t item[];
};

static struct str turns_number_key(const int64_t *number)
{
    return (struct str){(const char *)number, sizeof(*number)};
}

void *turns_find(const struct turns *turns, int64_t number)
{
    struct turns_entry *entry = map_get(turns->by_number, turns_number_key(&number));

    return entry != NULL ? entry->item : NULL;
}

void *turns_get(struct turns *turns, int64_t number)
{
    struct turns_entry *entry = map_get(turns->by_number, turns_number_key(&number));

    if (entry == NULL) {
        entry = calloc(1, sizeof(*entry) + turns->size);
        MUST(entry != NULL);
        turns->init(entry->item, number, turns->arg);
        (void)map_put(turns->by_number, turns_number_key(&number), entry);
    }
    return entry->item;
}

size_t turns_count(const struct turns *turns)
{
    return turns->by_number != NULL ? map_size(turns->by_number) : 0;
}

void turns_each(struct turns *turns, void (*fn)(void *item))
{
    size_t cursor = 0;
    struct str key;
    void *place;

    while (map_next(turns->by_number, &cursor, &key, &place))
        fn(((struct turns_entry *)place)->item);
}

/* --- rings --- */

static void turns_on_turn_end(void *arg)
{
    struct turns *turns = arg;

    if (!turns->closed) /* otherwise turns_stop() may have freed items in the rings */
        turns->pump(turns->arg);
}

void turns_pump(struct turns *turns)
{
    loop_at_tick_end(&turns->hook);
}

void turns_join(struct turns *turns, struct list *queue, struct list *node)
{
    if (turns->closed || !list_empty(node))
        return;
    list_append(queue, node);
    turns_pump(turns);
}

void turns_close(struct turns *turns)
{
    turns->closed = true;
}

/* --- timers --- */

static void on_retry(void *arg)
{
    struct turns *turns = arg;

    turns_each(turns, turns->rejoin);
}

void turns_retry(struct turns *turns)
{
    loop_timer_start(&turns->retry, RETRY_MS);
}

static int64_t turns_forget_ms(const struct turns *turns)
{
    return turns->forget_ms > 0 ? turns->forget_ms : FORGET_MS;
}

static void on_housekeeping(void *arg)
{
    struct turns *turns = arg;
    int64_t now = clock_mono_ms();
    size_t cursor = 0;
    struct str key;
    void *value;

    while (map_next(turns->by_number, &cursor, &key, &value)) {
        struct turns_entry *entry = value;
        if (!turns->is_idle(entry->item)) {
            entry->idle_since_ms = 0;
        } else if (entry->idle_since_ms == 0) {
            entry->idle_since_ms = now;
        } else if (now - entry->idle_since_ms >= turns_forget_ms(turns)) {
            (void)map_remove(turns->by_number, key);
            free(entry);
        }
    }
    loop_timer_start(&turns->housekeeping, turns_forget_ms(turns) / CHECKS);
}

/* --- life --- */

void turns_start(struct turns *turns)
{
    turns->by_number = map_new();
    turns->hook = (struct loop_hook){.fn = turns_on_turn_end, .arg = turns};
    loop_timer_init(&turns->retry, on_retry, turns);
    loop_timer_init(&turns->housekeeping, on_housekeeping, turns);
    loop_timer_start(&turns->housekeeping, turns_forget_ms(turns) / CHECKS);
}

void turns_stop(struct turns *turns)
{
    size_t cursor = 0;
    struct str key;
    void *place;

    loop_timer_stop(&turns->retry);
    loop_timer_stop(&turns->housekeeping);
    while (map_next(turns->by_number, &cursor, &key, &place))
        free(place);
    map_free(turns->by_number);
    turns->by_number = NULL;
}

bool turns_can_free(struct turns *turns, loop_fn fn, void *arg)
{
    if (!turns->hook.queued)
        return true;
    turns->hook.fn = fn;
    turns->hook.arg = arg;
    return false;
}
