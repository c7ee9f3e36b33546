/*
 * Stacks for coroutines. A mapping is [guard | stack | struct co]; the guard is wider than any
 * frame the compiler lets through, so an overflow faults instead of reaching the neighbour. Idle
 * stacks are used again last in, first out: hot stacks still have their pages, cold stacks only the
 * page of their struct. Together the pool has room for the most requests that a process admits
 * (4,096), because mapping and unmapping a stack costs ten times as much as taking a cold one.
 */
#include "loop/co_private.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/panic.h"

#if defined(GW_SANITIZE)
#include <sanitizer/asan_interface.h>
#endif
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(low, high) ((void)(low), (void)(high), 0U)
#define VALGRIND_STACK_DEREGISTER(id)      ((void)(id))
#endif

/* Instrumented frames are two to three times as large. */
#if defined(GW_SANITIZE)
#define STACK_BYTES ((size_t)768 * 1024)
#else
#define STACK_BYTES ((size_t)256 * 1024)
#endif
#define GUARD_BYTES ((size_t)64 * 1024)
#define TOTAL_BYTES (GUARD_BYTES + STACK_BYTES)
#define PAGE_BYTES  ((size_t)4096)
#define HOT_MAX     64
#define COLD_MAX    4032

static struct {
    struct list hot;
    struct list cold;
    size_t hot_count;
    size_t cold_count;
    size_t mapped;
} pool = {
    .hot = {&pool.hot, &pool.hot},
    .cold = {&pool.cold, &pool.cold},
};

static struct co *stack_map(void)
{
    char *base = mmap(NULL,
                      TOTAL_BYTES,
                      PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
                      -1,
                      0);

    if (base == MAP_FAILED)
        PANIC("no memory for a coroutine stack: errno %d, %zu mapped", errno, pool.mapped);
    if (mprotect(base, GUARD_BYTES, PROT_NONE) != 0)
        PANIC("no guard for a coroutine stack: errno %d, %zu mapped", errno, pool.mapped);

    size_t struct_bytes = (sizeof(struct co) + 63) & ~(size_t)63;
    struct co *co = (struct co *)(void *)(base + TOTAL_BYTES - struct_bytes);
    co->low = base + GUARD_BYTES;
    co->valgrind_id = VALGRIND_STACK_REGISTER(co->low, (char *)co);
    list_init(&co->link);
    pool.mapped++;
    return co;
}

static void stack_unmap(struct co *co)
{
    VALGRIND_STACK_DEREGISTER(co->valgrind_id);
    MUST(munmap(co->low - GUARD_BYTES, TOTAL_BYTES) == 0);
    pool.mapped--;
}

/* The frames of a finished coroutine never returned: their red zones would trap the next user. */
static void stack_unpoison(struct co *co)
{
#if defined(GW_SANITIZE)
    __asan_unpoison_memory_region(co->low, (size_t)((char *)co - co->low));
#else
    (void)co;
#endif
}

/* Returns the pages to the kernel, except the page that has the struct. */
static void stack_cool(struct co *co)
{
    size_t bytes = (size_t)((char *)co - co->low) / PAGE_BYTES * PAGE_BYTES;

    (void)madvise(co->low, bytes, MADV_DONTNEED);
}

static struct co *stack_pop(struct list *head)
{
    struct co *co = LIST_ITEM(head->prev, struct co, link);

    list_remove(&co->link);
    return co;
}

struct co *co_pool_get(void)
{
    if (!list_empty(&pool.hot)) {
        pool.hot_count--;
        return stack_pop(&pool.hot);
    }
    if (!list_empty(&pool.cold)) {
        pool.cold_count--;
        return stack_pop(&pool.cold);
    }
    return stack_map();
}

void co_pool_put(struct co *co)
{
    stack_unpoison(co);
    if (pool.hot_count < HOT_MAX) {
        list_append(&pool.hot, &co->link);
        pool.hot_count++;
    } else if (pool.cold_count < COLD_MAX) {
        stack_cool(co);
        list_append(&pool.cold, &co->link);
        pool.cold_count++;
    } else {
        stack_unmap(co);
    }
}

void co_pool_free(void)
{
    while (!list_empty(&pool.hot))
        stack_unmap(stack_pop(&pool.hot));
    while (!list_empty(&pool.cold))
        stack_unmap(stack_pop(&pool.cold));
    pool.hot_count = 0;
    pool.cold_count = 0;
}

size_t co_pool_count(void)
{
    return pool.mapped;
}
