/*
 * Arena: bump allocation in a chain of blocks. Blocks double up to 64 KiB. An allocation of at
 * least half a block gets its own block, so that the space left in the current block is not lost.
 */
#include "base/arena.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/panic.h"

#define ALIGNMENT           16U
#define BLOCK_BYTES_DEFAULT 4096U
#define BLOCK_BYTES_MIN     256U
#define BLOCK_BYTES_MAX     65536U
#define MORE_FIRST          8 /* items that a growing array has room for at first */

struct block {
    struct block *older;
    size_t bytes; /* of data */
    _Alignas(ALIGNMENT) char data[];
};

struct cleanup {
    struct cleanup *older;
    arena_fn fn;
    void *ptr;
};

struct arena {
    char *free; /* the next free byte */
    char *end;  /* end of the current block */
    size_t used;
    size_t held;
    struct cleanup *cleanups;
    void *slot;
    struct block *blocks; /* newest first, without the first block, which is `first` */
    size_t first_bytes;
    size_t next_bytes; /* size of the data of the next block */
    _Alignas(ALIGNMENT) char first[];
};

static void *alloc_or_panic(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        PANIC("out of memory (%zu bytes)", bytes);
    return memory;
}

static void run_cleanups(struct arena *arena)
{
    /* A cleanup may add another cleanup. */
    while (arena->cleanups) {
        struct cleanup *cleanup = arena->cleanups;
        arena->cleanups = cleanup->older;
        cleanup->fn(cleanup->ptr);
    }
    arena->slot = NULL;
}

static void drop_blocks(struct arena *arena)
{
    while (arena->blocks) {
        struct block *block = arena->blocks;
        arena->blocks = block->older;
        free(block);
    }
    arena->free = arena->first;
    arena->end = arena->first + arena->first_bytes;
    arena->used = 0;
    arena->held = arena->first_bytes;
    arena->next_bytes = arena->first_bytes;
}

static atomic_size_t live_arenas; /* worker threads make arenas too */

size_t arena_count(void)
{
    return atomic_load_explicit(&live_arenas, memory_order_relaxed);
}

struct arena *arena_new(size_t block_bytes)
{
    struct arena *arena;

    if (block_bytes == 0)
        block_bytes = BLOCK_BYTES_DEFAULT;
    if (block_bytes < BLOCK_BYTES_MIN)
        block_bytes = BLOCK_BYTES_MIN;
    MUST(block_bytes <= PTRDIFF_MAX / 4);
    block_bytes &= ~(size_t)(ALIGNMENT - 1);

    arena = alloc_or_panic(sizeof(*arena) + block_bytes);
    arena->cleanups = NULL;
    arena->slot = NULL;
    arena->blocks = NULL;
    arena->first_bytes = block_bytes;
    drop_blocks(arena);
    atomic_fetch_add_explicit(&live_arenas, 1, memory_order_relaxed);
    return arena;
}

void arena_reset(struct arena *arena)
{
    run_cleanups(arena);
    drop_blocks(arena);
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    run_cleanups(arena);
    drop_blocks(arena);
    free(arena);
    atomic_fetch_sub_explicit(&live_arenas, 1, memory_order_relaxed);
}

static struct block *add_block(struct arena *arena, size_t bytes)
{
    struct block *block = alloc_or_panic(sizeof(*block) + bytes);
    block->bytes = bytes;
    block->older = arena->blocks;
    arena->blocks = block;
    arena->held += bytes;
    return block;
}

#ifdef GW_SANITIZE

void *arena_alloc(struct arena *arena, size_t bytes)
{
    MUST(bytes <= PTRDIFF_MAX / 2);
    arena->used += bytes;
    return add_block(arena, bytes)->data;
}

#else

static __attribute__((noinline)) void *alloc_slow(struct arena *arena, size_t bytes)
{
    struct block *block;

    MUST(bytes <= PTRDIFF_MAX / 2);
    if (arena->next_bytes < BLOCK_BYTES_MAX)
        arena->next_bytes *= 2;
    if (bytes >= arena->next_bytes / 2) {
        arena->used += bytes;
        return add_block(arena, bytes)->data;
    }
    block = add_block(arena, arena->next_bytes);
    arena->free = block->data + bytes;
    arena->end = block->data + block->bytes;
    arena->used += bytes;
    return block->data;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    size_t rounded = (bytes + (ALIGNMENT - 1)) & ~(size_t)(ALIGNMENT - 1);
    char *memory = arena->free;

    /* A size near SIZE_MAX wraps to a small number when rounded up. */
    if (__builtin_expect(rounded < bytes || rounded > (size_t)(arena->end - memory), 0))
        return alloc_slow(arena, rounded < bytes ? bytes : rounded);
    arena->free = memory + rounded;
    arena->used += rounded;
    return memory;
}

#endif

/* Returns the link to the block of this allocation, which is too large to share a block; NULL when
 * the allocation is in the first block. */
static struct block **own_block(struct arena *arena, const void *ptr)
{
    struct block **at = &arena->blocks;

    while (*at != NULL && (*at)->data != ptr)
        at = &(*at)->older;
    return *at != NULL ? at : NULL;
}

void *arena_grow(struct arena *arena, void *ptr, size_t old_bytes, size_t bytes)
{
    struct block **at = NULL;
    struct block *block;

    MUST(bytes >= old_bytes && bytes <= PTRDIFF_MAX / 2);
    if (old_bytes >= BLOCK_BYTES_MAX)
        at = own_block(arena, ptr);
    if (at == NULL) {
        void *copy = arena_alloc(arena, bytes);
        if (old_bytes > 0)
            memcpy(copy, ptr, old_bytes);
        return copy;
    }
    arena->held += bytes - (*at)->bytes;
    arena->used += bytes - old_bytes;
    block = realloc(*at, sizeof(*block) + bytes);
    if (block == NULL)
        PANIC("out of memory (%zu bytes)", bytes);
    block->bytes = bytes;
    *at = block;
    return block->data;
}

void *
arena_array_reserve(struct arena *arena, void *items, size_t count, size_t *cap, size_t item_bytes)
{
    size_t old = *cap;

    if (count < old)
        return items;
    *cap = old > 0 ? old * 2 : MORE_FIRST;
    MUST(*cap <= PTRDIFF_MAX / 2 / item_bytes);
    return arena_grow(arena, items, old * item_bytes, *cap * item_bytes);
}

void **arena_slot(struct arena *arena)
{
    return &arena->slot;
}

void *arena_zalloc(struct arena *arena, size_t bytes)
{
    return memset(arena_alloc(arena, bytes), 0, bytes);
}

void *arena_zalloc_array(struct arena *arena, size_t item_bytes, size_t count)
{
    size_t bytes;
    MUST(!__builtin_mul_overflow(item_bytes, count, &bytes));
    return arena_zalloc(arena, bytes);
}

struct str arena_dup(struct arena *arena, struct str text)
{
    return (struct str){arena_cstr(arena, text), text.len};
}

struct str arena_lower(struct arena *arena, struct str text)
{
    char *copy = arena_cstr(arena, text);

    for (size_t i = 0; i < text.len; i++)
        copy[i] = ascii_lower(copy[i]);
    return (struct str){copy, text.len};
}

struct str arena_upper(struct arena *arena, struct str text)
{
    char *copy = arena_cstr(arena, text);

    for (size_t i = 0; i < text.len; i++)
        copy[i] = ascii_upper(copy[i]);
    return (struct str){copy, text.len};
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_cstr(arena, str_from(text));
}

char *arena_cstr(struct arena *arena, struct str text)
{
    MUST(text.len < SIZE_MAX);
    char *copy = arena_alloc(arena, text.len + 1);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

struct str arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    struct str text;

    va_start(args, format);
    text = arena_vprintf(arena, format, args);
    va_end(args);
    return text;
}

struct str arena_vprintf(struct arena *arena, const char *format, va_list args)
{
    char small[256];
    va_list again;
    char *text;
    int len;

    va_copy(again, args);
    len = vsnprintf(small, sizeof(small), format, args);
    MUST(len >= 0);
    text = arena_alloc(arena, (size_t)len + 1);
    if ((size_t)len < sizeof(small))
        memcpy(text, small, (size_t)len + 1);
    else
        (void)vsnprintf(text, (size_t)len + 1, format, again);
    va_end(again);
    return (struct str){text, (size_t)len};
}

void arena_defer(struct arena *arena, arena_fn fn, void *ptr)
{
    struct cleanup *cleanup = arena_alloc(arena, sizeof(*cleanup));
    cleanup->fn = fn;
    cleanup->ptr = ptr;
    cleanup->older = arena->cleanups;
    arena->cleanups = cleanup;
}

size_t arena_used_bytes(const struct arena *arena)
{
    return arena->used;
}

size_t arena_held_bytes(const struct arena *arena)
{
    return arena->held;
}
