#pragma once
/*
 * Projects that have work in this process, and rings in which they wait for their turn at a scarce
 * resource. An item is a struct of the owner for one project. It is found by the project's number,
 * made when it does not exist, and forgotten after it has been idle for a while. The owner decides
 * how much one turn gives.
 *
 *     static struct turns turns = {.size = sizeof(struct work), .init = work_init,
 *                                  .is_idle = is_idle, .rejoin = to_rings, .pump = pump};
 *     turns_join(&turns, &ring, &work->ring);
 *     pump():  while (free_slots() > 0 && !list_empty(&ring))
 *                  give_turn(LIST_ITEM(list_shift(&ring), struct work, ring));
 */
#include "base/list.h"
#include "loop/loop.h"

struct map;

struct turns {
    /* Set by the owner. */
    size_t size;                                         /* size of an item */
    void *arg;                                           /* argument of .init and .pump */
    void (*init)(void *item, int64_t number, void *arg); /* initializes an item that is all zero */
    bool (*is_idle)(const void *item); /* whether the item may be freed without loss */
    void (*rejoin)(void *item);        /* see turns_retry() */
    loop_fn pump;      /* gives turns to items in the rings; NULL = there are no rings */
    int64_t forget_ms; /* 0 = 300,000 */
    /* Private. */
    struct map *by_number;
    struct loop_hook hook;
    struct loop_timer retry, housekeeping;
    bool closed;
};

/* loop: call once, before any other function. */
void turns_start(struct turns *turns);
/* loop: frees all items. */
void turns_stop(struct turns *turns);
/* loop: call after turns_stop(). Returns true when the memory of `turns` may be freed now.
 * Otherwise calls fn(arg) when it may be freed, at the end of this tick of the loop. */
bool turns_can_free(struct turns *turns, loop_fn fn, void *arg);
/* any: from now on turns_join() does nothing and no turn is given. */
void turns_close(struct turns *turns);

/* any: turns_find() returns NULL if there is no item, turns_get() makes the item. Borrowed until
 * the item has been idle for `forget_ms`. turns_count() counts the items. */
void *turns_find(const struct turns *turns, int64_t number);
void *turns_get(struct turns *turns, int64_t number);
size_t turns_count(const struct turns *turns);
/* any: calls fn(item) for each item. fn makes no items. */
void turns_each(struct turns *turns, void (*fn)(void *item));

/* any: appends an item to the ring `queue`, unless the item is in a ring already, and calls
 * turns_pump(). `node` is the item's node for this ring. */
void turns_join(struct turns *turns, struct list *queue, struct list *node);
/* any: calls .pump at the end of this tick of the loop. Call when the resource may have become
 * free. */
void turns_pump(struct turns *turns);
/* any: calls .rejoin for all items in half a second. Call when a server has refused the work. */
void turns_retry(struct turns *turns);
