#pragma once
/*
 * Projects that have work in this process, and rings in which they wait for their turn at something
 * that is scarce. An item is the owner's own struct: found by its project's number, made when there
 * is none, forgotten when it has been idle for a while. How much a turn is, the owner says.
 *
 *     static struct turns turns = {.size = sizeof(struct work), .init = work_init, .idle = is_idle,
 *                                  .again = to_rings, .pump = pump};
 *     turns_join(&turns, &ring, &work->ring);
 *     pump():  while (free_slots() > 0 && !list_empty(&ring))
 *                  give_turn(LIST_ITEM(list_shift(&ring), struct work, ring));
 */
#include "base/list.h"
#include "loop/loop.h"

struct map;

struct turns {
    /* The owner's. */
    size_t size;                                         /* of an item */
    void *arg;                                           /* of .init and .pump */
    void (*init)(void *item, int64_t number, void *arg); /* of one that is all zero */
    bool (*idle)(const void *item);                      /* nothing is lost with it */
    void (*again)(void *item);                           /* see turns_retry() */
    loop_fn pump;      /* gives turns; its argument is .arg; NULL = there are no rings */
    int64_t forget_ms; /* 0 = 300,000 */
    /* Their own. */
    struct map *by_number;
    struct loop_hook hook;
    struct loop_timer retry, housekeeping;
    bool closed;
};

/* loop: once, before anything else. */
void turns_start(struct turns *turns);
/* loop: frees all items. */
void turns_stop(struct turns *turns);
/* loop: after turns_stop(). True: its memory may go; else fn(arg) is called when it may. */
bool turns_leave(struct turns *turns, loop_fn fn, void *arg);
/* any: nobody joins a ring any more, and no turn is given. */
void turns_close(struct turns *turns);

/* any: borrowed until it has been idle for forget_ms; find: NULL when there is none. */
void *turns_find(const struct turns *turns, int64_t number);
void *turns_get(struct turns *turns, int64_t number);
size_t turns_count(const struct turns *turns);
/* any: fn(item) of all; it makes none. */
void turns_each(struct turns *turns, void (*fn)(void *item));

/* any: to the end of a ring, unless it stands in it already. */
void turns_join(struct turns *turns, struct list *ring, struct list *node);
/* any: .pump at the end of this turn of the loop: something has become free. */
void turns_pump(struct turns *turns);
/* any: in half a second .again of all items: a server refused what they wanted. */
void turns_retry(struct turns *turns);
