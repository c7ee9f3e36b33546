#pragma once
/* The prepared statements of a connection. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/list.h"

struct sql;

enum { STMT_MAX = 2048, STMT_BUCKETS = 2048, STMT_NAME_BYTES = 64 };

struct stmt {
    struct list lru; /* newest last; or in `evicted` */
    struct stmt *next;
    uint64_t key;
    unsigned seq;
    unsigned in_flight;
    int64_t made_ms; /* coarse clock, mono */
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
/* Borrowed, NULL when it is not prepared. */
struct stmt *stmt_find(struct stmt_cache *cache, uint64_t key);
/* The same without making it the newest. */
struct stmt *stmt_peek(const struct stmt_cache *cache, uint64_t key);
/* One of it was answered; nothing when it is no longer the one with this number. */
void stmt_answered(const struct stmt_cache *cache, uint64_t key, unsigned seq);
/* Names a new one; beyond STMT_MAX the least recently used is evicted. A name is never used twice
 * on a connection. */
struct stmt *
stmt_add(struct stmt_cache *cache, const struct sql *sql, int64_t schema, uint64_t key);
/* Forgets it if it is still the one with this number; `on_server` = it has to be deallocated
 * there. */
void stmt_drop(struct stmt_cache *cache, uint64_t key, unsigned seq, bool on_server);
/* The same of one that was prepared before that time, so that it gets another plan. */
void stmt_drop_older(struct stmt_cache *cache, uint64_t key, unsigned seq, int64_t made_ms);
uint64_t stmt_key(const struct sql *sql, int64_t schema);
/* The text with {p} filled in, arena-owned. */
char *stmt_text(struct arena *arena, const char *text, int64_t schema);
