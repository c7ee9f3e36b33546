#pragma once
/*
 * Arena: memory that is allocated for a task and freed at once when the task ends, with cleanups
 * for resources that are not memory. An arena has one owner and one thread. Lack of memory panics.
 * Sanitizer builds use one malloc per allocation, to detect overruns inside of a block.
 */
#include <stdarg.h>
#include <stddef.h>

#include "base/result.h"
#include "base/str.h"

struct arena;
typedef void (*arena_fn)(void *ptr);

/* Returns an arena, owned by the caller. Its first block has `block_bytes`; 0 = 4 KiB. */
struct arena *arena_new(size_t block_bytes);
/* Runs all cleanups and frees all blocks but the first, for the next task. */
void arena_reset(struct arena *arena);
/* Runs all cleanups and frees the arena; NULL is allowed. */
void arena_free(struct arena *arena);

/* Return memory that is 16-byte aligned, never NULL and arena-owned; arena_zalloc() zeroes it. */
void *arena_alloc(struct arena *arena, size_t bytes) __attribute__((malloc, alloc_size(2)));
void *arena_zalloc(struct arena *arena, size_t bytes) __attribute__((malloc, alloc_size(2)));
/* A zeroed object of the type that `pointer` points to: struct x *p = ARENA_NEW(a, p). */
#define ARENA_NEW(arena, pointer) ((__typeof__(pointer))arena_zalloc((arena), sizeof(*(pointer))))
#define ARENA_ARRAY(arena, pointer, count)                                                         \
    ((__typeof__(pointer))arena_zalloc_array((arena), sizeof(*(pointer)), (count)))
/* Returns zeroed memory for `count` items. A product that overflows panics. */
void *arena_zalloc_array(struct arena *arena, size_t item_bytes, size_t count)
    __attribute__((malloc, alloc_size(2, 3)));
/* Returns a copy of the text, with a NUL after it that is not counted. */
struct str arena_dup(struct arena *arena, struct str text);
/* Return a copy with ASCII letters in lower or upper case, and a NUL after it that is not
 * counted. */
struct str arena_lower(struct arena *arena, struct str text);
struct str arena_upper(struct arena *arena, struct str text);
/* Return a NUL-terminated copy; arena_strdup() takes NULL as the empty text. */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_cstr(struct arena *arena, struct str text);
/* Enlarges an allocation, which may move, and returns it. When `old_bytes` is 64 KiB or more and
 * not in the first block, the old memory is reused, so that a text that grows to megabytes does not
 * leave its old copies in the arena. */
void *arena_grow(struct arena *arena, void *ptr, size_t old_bytes, size_t bytes);
/* Appends an item to an arena-owned array of `count` items with room for `cap` items; `cap` doubles
 * when the array is full. The arguments must be lvalues: ARENA_PUSH(arena, list->items,
 * list->count, list->cap, item). */
#define ARENA_PUSH(arena, items, count, cap, ...)                                                  \
    ((items) = arena_array_reserve((arena), (items), (count), &(cap), sizeof(*(items))),           \
     (items)[(count)++] = (__VA_ARGS__))
/* Returns the array with room for one more item. Used by ARENA_PUSH(). */
void *
arena_array_reserve(struct arena *arena, void *items, size_t count, size_t *cap, size_t item_bytes);
/* Return a text that is formatted as by printf(), with a NUL after it that is not counted. */
struct str arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);
struct str arena_vprintf(struct arena *arena, const char *format, va_list args);

/* Adds a cleanup: fn(ptr) runs when the arena is reset or freed, the last added cleanup first. */
void arena_defer(struct arena *arena, arena_fn fn, void *ptr);

/* Returns the address of a pointer for the code that keeps an account of the arena (db/answer). The
 * pointer is NULL at first and after each reset. */
void **arena_slot(struct arena *arena);

/* Returns the number of arenas in this process (metrics). */
size_t arena_count(void);
/* Return the bytes allocated since the last reset, and the bytes held in blocks (metrics). */
size_t arena_used_bytes(const struct arena *arena);
size_t arena_held_bytes(const struct arena *arena);
