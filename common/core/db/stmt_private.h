#pragma once
/* The prepared statements of a connection. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"

struct sql;

enum { STMT_MAX = 2048, STMT_BUCKETS = 2048, STMT_NAME_BYTES = 64 };

struct stmt {
    struct list lru; /* most recently used last; or in `evicted` */
    struct stmt *next;
    uint64_t key;
    unsigned seq;
    unsigned in_flight;
    int64_t made_ms; /* server_now_ms() when it was prepared */
    char name[STMT_NAME_BYTES];
};

struct stmt_cache {
    struct stmt *buckets[STMT_BUCKETS];
    struct list lru;
    struct list evicted; /* to be deallocated with the next group */
    unsigned count;
    unsigned seq;
};

void stmt_cache_init(struct stmt_cache *cache);
void stmt_cache_done(struct stmt_cache *cache);
/* stmt_find() returns a prepared statement, borrowed, and makes it the most recently used; NULL
 * when it is not prepared. stmt_peek() does the same and leaves the order as it is. */
struct stmt *stmt_find(struct stmt_cache *cache, uint64_t key);
struct stmt *stmt_peek(const struct stmt_cache *cache, uint64_t key);
/* Records that a run of the statement was answered. Nothing happens when the key has a statement of
 * another number by now. */
void stmt_end_run(const struct stmt_cache *cache, uint64_t key, unsigned seq);
/* Adds a statement under a new name; beyond STMT_MAX the least recently used one is evicted. A name
 * is never used twice on a connection. */
struct stmt *
stmt_add(struct stmt_cache *cache, const struct sql *sql, int64_t schema, uint64_t key);
/* Drops the statement if it still has this number. `on_server`: deallocates it there, too. */
void stmt_drop(struct stmt_cache *cache, uint64_t key, unsigned seq, bool on_server);
/* stmt_drop() for a statement that was prepared before `made_ms`, so that it gets another plan. */
void stmt_drop_older(struct stmt_cache *cache, uint64_t key, unsigned seq, int64_t made_ms);
uint64_t stmt_key(const struct sql *sql, int64_t schema);
/* The text with {p} filled in, arena-owned. */
char *stmt_text(struct arena *arena, const char *text, int64_t schema);
