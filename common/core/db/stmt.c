/*
 * The prepared statements of a connection (the least recently used is dropped beyond 2,048), and
 * texts with the schema filled in.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "db/conn_private.h"
#include "db/stmt_private.h"

static uint64_t stmt_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a ^ (b * 0x9e3779b97f4a7c15ULL);

    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    return x ^ (x >> 32);
}

uint64_t stmt_key(const struct sql *sql, int64_t schema)
{
    return stmt_mix(sql->hash, (uint64_t)schema + 1);
}

void stmt_cache_init(struct stmt_cache *cache)
{
    memset(cache, 0, sizeof(*cache));
    list_init(&cache->lru);
    list_init(&cache->evicted);
}

static void stmt_free_list(struct list *head)
{
    struct list *node;

    while ((node = list_shift(head)))
        free(LIST_ITEM(node, struct stmt, lru));
}

void stmt_cache_done(struct stmt_cache *cache)
{
    stmt_free_list(&cache->lru);
    stmt_free_list(&cache->evicted);
}

struct stmt *stmt_peek(const struct stmt_cache *cache, uint64_t key)
{
    struct stmt *stmt = cache->buckets[key % STMT_BUCKETS];

    while (stmt && stmt->key != key)
        stmt = stmt->next;
    return stmt;
}

struct stmt *stmt_find(struct stmt_cache *cache, uint64_t key)
{
    struct stmt *stmt = stmt_peek(cache, key);

    if (stmt) {
        list_remove(&stmt->lru);
        list_append(&cache->lru, &stmt->lru);
    }
    return stmt;
}

void stmt_end_run(const struct stmt_cache *cache, uint64_t key, unsigned seq)
{
    struct stmt *stmt = stmt_peek(cache, key);

    if (stmt && stmt->seq == seq && stmt->in_flight > 0)
        stmt->in_flight--;
}

static void stmt_unlink(struct stmt_cache *cache, struct stmt *stmt)
{
    struct stmt **at = &cache->buckets[stmt->key % STMT_BUCKETS];

    while (*at != stmt)
        at = &(*at)->next;
    *at = stmt->next;
    list_remove(&stmt->lru);
    cache->count--;
}

struct stmt *stmt_add(struct stmt_cache *cache, const struct sql *sql, int64_t schema, uint64_t key)
{
    if (cache->count >= STMT_MAX) {
        struct stmt *oldest = LIST_ITEM(cache->lru.next, struct stmt, lru);
        stmt_unlink(cache, oldest);
        list_append(&cache->evicted, &oldest->lru);
    }
    struct stmt *stmt = calloc(1, sizeof(*stmt));
    MUST(stmt != NULL);
    stmt->key = key;
    stmt->seq = ++cache->seq;
    /* PostgreSQL would cut a name beyond 63 bytes; the number makes it unique in any case. */
    snprintf(stmt->name,
             sizeof(stmt->name),
             "%.20s.%016llx.%llu.%u",
             sql->name ? sql->name : "",
             (unsigned long long)sql->hash,
             (unsigned long long)schema % 100000000000ULL,
             stmt->seq);
    stmt->next = cache->buckets[key % STMT_BUCKETS];
    cache->buckets[key % STMT_BUCKETS] = stmt;
    list_append(&cache->lru, &stmt->lru);
    cache->count++;
    return stmt;
}

void stmt_drop(struct stmt_cache *cache, uint64_t key, unsigned seq, bool on_server)
{
    for (struct stmt *stmt = cache->buckets[key % STMT_BUCKETS]; stmt; stmt = stmt->next) {
        if (stmt->key != key || stmt->seq != seq)
            continue;
        stmt_unlink(cache, stmt);
        if (on_server)
            list_append(&cache->evicted, &stmt->lru);
        else
            free(stmt);
        return;
    }
}

void stmt_drop_older(struct stmt_cache *cache, uint64_t key, unsigned seq, int64_t made_ms)
{
    const struct stmt *stmt = stmt_peek(cache, key);

    if (stmt != NULL && stmt->made_ms < made_ms)
        stmt_drop(cache, key, seq, true);
}

char *stmt_text(struct arena *arena, const char *text, int64_t schema)
{
    char name[32];
    size_t found = 0;

    for (const char *at = strstr(text, "{p}"); at; at = strstr(at + 3, "{p}"))
        found++;
    size_t name_len = (size_t)snprintf(name, sizeof(name), "p_%lld", (long long)schema);
    char *expanded = arena_alloc(arena, strlen(text) + found * name_len + 1);
    char *out = expanded;
    const char *rest = text;
    for (const char *at = strstr(rest, "{p}"); at; at = strstr(rest, "{p}")) {
        memcpy(out, rest, (size_t)(at - rest));
        out += at - rest;
        memcpy(out, name, name_len);
        out += name_len;
        rest = at + 3;
    }
    memcpy(out, rest, strlen(rest) + 1);
    return expanded;
}
