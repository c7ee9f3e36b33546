#pragma once
/*
 * Arena: everything born for a task dies with the task. Bump allocation in blocks, freed at once,
 * with cleanups for what is not memory. One owner, one thread. Out of memory panics.
 * Sanitizer builds use one malloc per allocation, so that overruns inside a block are seen.
 */
#include <stdarg.h>
#include <stddef.h>

#include "base/result.h"
#include "base/str.h"

struct arena;
typedef void (*arena_fn)(void *ptr);

/* Returns owned; arena_free() runs all cleanups (last first) and frees it. `block_bytes` 0 = 4
 * KiB. */
struct arena *arena_new(size_t block_bytes);
/* Runs all cleanups and frees all blocks but the first: ready for the next task. */
void arena_reset(struct arena *arena);
void arena_free(struct arena *arena);

/* 16-byte aligned, never NULL, arena-owned. */
void *arena_alloc(struct arena *arena, size_t bytes) __attribute__((malloc, alloc_size(2)));
void *arena_zalloc(struct arena *arena, size_t bytes) __attribute__((malloc, alloc_size(2)));
/* A zeroed object of the type that `pointer` points to: struct x *p = ARENA_NEW(a, p). */
#define ARENA_NEW(arena, pointer) ((__typeof__(pointer))arena_zalloc((arena), sizeof(*(pointer))))
#define ARENA_ARRAY(arena, pointer, count)                                                         \
    ((__typeof__(pointer))arena_zalloc_array((arena), sizeof(*(pointer)), (count)))
/* Zeroed room for `count` items; a product that does not fit panics instead of wrapping. */
void *arena_zalloc_array(struct arena *arena, size_t item_bytes, size_t count)
    __attribute__((malloc, alloc_size(2, 3)));
/* Copies; the result is NUL-terminated as well (the NUL is not counted). */
struct str arena_dup(struct arena *arena, struct str text);
/* The same with ASCII letters in lower or upper case. */
struct str arena_lower(struct arena *arena, struct str text);
struct str arena_upper(struct arena *arena, struct str text);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_cstr(struct arena *arena, struct str text);
/* An allocation made larger, which may move: what grows to megabytes leaves no copies behind. */
void *arena_grow(struct arena *arena, void *ptr, size_t old_bytes, size_t bytes);
/* Adds an item to an array of the arena that holds `count` and has room for `cap`, which doubles.
 * All three are members of somebody: ARENA_PUSH(arena, list->items, list->count, list->cap, item).
 */
#define ARENA_PUSH(arena, items, count, cap, ...)                                                  \
    ((items) = arena_more((arena), (items), (count), &(cap), sizeof(*(items))),                    \
     (items)[(count)++] = (__VA_ARGS__))
/* Room for one more. */
void *arena_more(struct arena *arena, void *items, size_t count, size_t *cap, size_t item_bytes);
struct str arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
struct str arena_vprintf(struct arena *arena, const char *format, va_list args);

/* Runs fn(ptr) when the arena is reset or freed, last added first. */
void arena_defer(struct arena *arena, arena_fn fn, void *ptr);

/* One pointer that goes with what was allocated since the last reset, when it is NULL again: for
 * who keeps an account of the arena (db/answer). */
void **arena_slot(struct arena *arena);

/* Arenas alive in this process (metrics). */
size_t arena_count(void);
/* Bytes handed out since the last reset, and bytes held in blocks (metrics). */
size_t arena_used_bytes(const struct arena *arena);
size_t arena_held_bytes(const struct arena *arena);
