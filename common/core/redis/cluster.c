/*
 * The servers of a client: a single one, or a Redis Cluster. In a cluster the client learns from
 * CLUSTER SLOTS of any node which node owns which hash slot. It sends this command again when an
 * answer or a lost connection shows that its table is outdated, and corrects single slots after
 * MOVED.
 */
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/panic.h"
#include "redis/cluster_private.h"
#include "redis/cmd_private.h"
#include "redis/link_private.h"
#include "redis/slot_private.h"
#include "redis/url_private.h"

enum {
    NODES_MAX = 1024,
    LEARN_MS = 1000,      /* time limit of CLUSTER SLOTS */
    LEARN_SOON_MS = 20,   /* many commands may fail for the same reason at once */
    LEARN_AGAIN_MS = 250, /* while a node is down */
};

static void slots_learn_after(struct redis *redis, int64_t delay_ms);

/* --- nodes --- */

static bool same_address(const struct address *a, const struct address *b)
{
    if (!a->host || !b->host)
        return false;
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

static void cluster_on_up(struct link *link)
{
    struct redis *redis = link->redis;

    if (redis->mode != REDIS_MODE_SINGLE)
        slots_learn_after(redis, 0);
}

static void cluster_on_down(struct link *link)
{
    struct node *node = CONTAINER_OF(link, struct node, commands);

    if (node->redis->mode == REDIS_MODE_CLUSTER)
        slots_learn_after(node->redis, LEARN_SOON_MS);
    if (!node->listed && !node->seed)
        link_close(link);
}

static void node_init(struct redis *redis, struct node *node, struct address *address)
{
    node->redis = redis;
    node->address = *address;
    *address = (struct address){0};
    link_init(&node->commands, redis, &node->address);
    node->commands.follows_redirects = true;
    node->commands.on_up = cluster_on_up;
    node->commands.on_down = cluster_on_down;
}

static bool is_closed(const struct node *node)
{
    const struct link *link = &node->commands;

    return !link->context && !link->lookup && link->timer.heap_index == 0;
}

/* A node whose server has left the cluster, to be used again; NULL = none. */
static struct node *node_find_left(struct redis *redis)
{
    for (size_t i = 0; i < redis->node_count; i++) {
        struct node *node = redis->nodes[i];
        if (!node->seed && !node->listed && is_closed(node)) {
            node->generation++;
            address_done(&node->address);
            return node;
        }
    }
    return NULL;
}

struct node *cluster_add(struct redis *redis, struct address *address)
{
    struct node *node = node_find_left(redis);

    if (!node && redis->node_count == NODES_MAX) {
        address_done(address);
        return NULL;
    }
    if (!node) {
        node = calloc(1, sizeof(*node));
        struct node **nodes =
            realloc(redis->nodes, (redis->node_count + 1) * sizeof(struct node *));
        MUST(node != NULL && nodes != NULL);
        redis->nodes = nodes;
        redis->nodes[redis->node_count++] = node;
    }
    node_init(redis, node, address);
    return node;
}

/* The node at an address, which is added and connected when it is new. An empty host means the
 * server `from`, which named the address. */
static struct node *
node_find_or_add(struct redis *redis, const struct address *from, struct str host, int64_t port)
{
    struct address address = {.port = (int)port};

    if (port < 1 || port > 65535)
        return NULL;
    if (host.len == 0 || str_is(host, "?"))
        host = str_from(from->host ? from->host : "127.0.0.1");
    address.host = strndup(host.ptr, host.len);
    MUST(address.host != NULL);
    for (size_t i = 0; i < redis->node_count; i++) {
        if (same_address(&redis->nodes[i]->address, &address)) {
            address_done(&address);
            if (is_closed(redis->nodes[i]))
                link_open(&redis->nodes[i]->commands);
            return redis->nodes[i];
        }
    }
    struct node *node = cluster_add(redis, &address);
    if (node) {
        node->listed = true; /* until the next answer of CLUSTER SLOTS */
        link_open(&node->commands);
    }
    return node;
}

static uint16_t cluster_index_of(const struct redis *redis, const struct node *node)
{
    for (size_t i = 0; i < redis->node_count; i++) {
        if (redis->nodes[i] == node)
            return (uint16_t)i;
    }
    return SLOT_NONE;
}

/* --- owners of slots --- */

static void mode_set_cluster(struct redis *redis)
{
    redis->mode = REDIS_MODE_CLUSTER;
    if (redis->slots)
        return;
    redis->slots = malloc(REDIS_SLOTS * sizeof(*redis->slots));
    MUST(redis->slots != NULL);
    for (size_t i = 0; i < REDIS_SLOTS; i++)
        redis->slots[i] = SLOT_NONE;
}

/* A row is [first, last, [host, port, ...] of the owner, replicas...]. */
static void cluster_take_row(struct redis *redis, const struct address *from, const redisReply *row)
{
    if (row->type != REDIS_REPLY_ARRAY || row->elements < 3 ||
        row->element[0]->type != REDIS_REPLY_INTEGER ||
        row->element[1]->type != REDIS_REPLY_INTEGER ||
        row->element[2]->type != REDIS_REPLY_ARRAY || row->element[2]->elements < 2)
        return;
    const redisReply *host = row->element[2]->element[0];
    const redisReply *port = row->element[2]->element[1];
    struct str name =
        host->type == REDIS_REPLY_STRING ? (struct str){host->str, host->len} : STR_NONE;
    if (port->type != REDIS_REPLY_INTEGER)
        return;
    struct node *node = node_find_or_add(redis, from, name, port->integer);
    if (!node)
        return;
    node->listed = true;
    for (long long slot = row->element[0]->integer; slot <= row->element[1]->integer; slot++) {
        if (slot >= 0 && slot < REDIS_SLOTS)
            redis->slots[slot] = cluster_index_of(redis, node);
    }
}

static void slots_replace(struct redis *redis, const struct address *from, const redisReply *reply)
{
    mode_set_cluster(redis);
    if (reply->elements == 0) /* the server knows no owners yet */
        return;
    for (size_t i = 0; i < REDIS_SLOTS; i++)
        redis->slots[i] = SLOT_NONE;
    for (size_t i = 0; i < redis->node_count; i++)
        redis->nodes[i]->listed = false;
    for (size_t i = 0; i < reply->elements; i++)
        cluster_take_row(redis, from, reply->element[i]);
}

/* --- learning the owners --- */

static void on_slots(int rc, const redisReply *reply, void *arg)
{
    struct node *node = arg;
    struct redis *redis = node->redis;

    redis->learning = false;
    if (redis->freeing)
        return;
    if (rc == 0 && reply->type == REDIS_REPLY_ARRAY) {
        slots_replace(redis, &node->address, reply);
        if (!redis_up(redis))
            slots_learn_after(redis, LEARN_AGAIN_MS);
    } else if (rc == REDIS_ERROR && redis->mode == REDIS_MODE_UNKNOWN) {
        /* "cluster support disabled", or our user must not run CLUSTER: then a MOVED will show that
         * this is a cluster. */
        redis->mode = REDIS_MODE_SINGLE;
    } else if (redis->mode == REDIS_MODE_CLUSTER) {
        slots_learn_after(redis, LEARN_AGAIN_MS);
    }
}

static void slots_learn(void *arg)
{
    static const struct str argv[] = {STR_INIT("CLUSTER"), STR_INIT("SLOTS")};
    struct redis *redis = arg;

    if (redis->learning)
        return;
    for (size_t i = 0; i < redis->node_count; i++) {
        struct node *node = redis->nodes[redis->learn_next++ % redis->node_count];
        if (node->commands.state == LINK_UP) {
            redis->learning = true;
            cmd_post(&node->commands, LEARN_MS, on_slots, node, ARRAY_LEN(argv), argv);
            return;
        }
    }
    if (redis->mode == REDIS_MODE_CLUSTER)
        slots_learn_after(redis, LEARN_AGAIN_MS);
}

/* Runs slots_learn() after the delay, once for all calls until then; a delay of 0 runs it at once.
 */
static void slots_learn_after(struct redis *redis, int64_t delay_ms)
{
    if (redis->freeing || (redis->learn_timer.heap_index != 0 && delay_ms > 0))
        return;
    loop_timer_start(&redis->learn_timer, delay_ms);
}

/* --- routes --- */

/* A node for commands without a key and for slots without a known owner, if possible a node that is
 * up. */
static struct node *node_pick_any(struct redis *redis)
{
    for (size_t i = 0; i < redis->node_count; i++) {
        if (redis->nodes[i]->commands.state == LINK_UP)
            return redis->nodes[i];
    }
    return redis->nodes[0];
}

struct node *cluster_route(struct redis *redis, size_t argc, const struct str *argv)
{
    struct str key;

    if (redis->node_count == 1 && redis->mode != REDIS_MODE_CLUSTER)
        return redis->nodes[0];
    if (redis->mode == REDIS_MODE_CLUSTER && slot_key(argc, argv, &key)) {
        uint16_t index = redis->slots[slot_of(key)];
        if (index != SLOT_NONE)
            return redis->nodes[index];
    }
    return node_pick_any(redis);
}

struct node *cluster_redirect(struct redis *redis,
                              const struct address *from,
                              struct str error,
                              bool *ret_asking)
{
    struct str rest = error;
    struct str word = str_split(&rest, ' ');
    int64_t slot;
    int64_t port;

    if (redis->freeing)
        return NULL;
    if (str_is(word, "CLUSTERDOWN") || str_is(word, "READONLY") || str_is(word, "UNBLOCKED")) {
        if (redis->mode == REDIS_MODE_CLUSTER)
            slots_learn_after(redis, LEARN_SOON_MS);
        return NULL;
    }
    bool asking = str_is(word, "ASK");
    if ((!asking && !str_is(word, "MOVED")) || !num_parse_i64(str_split(&rest, ' '), &slot) ||
        slot < 0 || slot >= REDIS_SLOTS)
        return NULL;
    const char *colon = rest.ptr ? memrchr(rest.ptr, ':', rest.len) : NULL;
    if (!colon)
        return NULL;
    struct str host = {rest.ptr, (size_t)(colon - rest.ptr)};
    if (!num_parse_i64((struct str){colon + 1, rest.len - host.len - 1}, &port))
        return NULL;
    struct node *node = node_find_or_add(redis, from, host, port);
    if (!node)
        return NULL;
    if (!asking) {
        mode_set_cluster(redis);
        redis->slots[slot] = cluster_index_of(redis, node);
        slots_learn_after(redis, LEARN_SOON_MS);
    }
    *ret_asking = asking;
    return node;
}

/* --- life --- */

void cluster_init(struct redis *redis)
{
    loop_timer_init(&redis->learn_timer, slots_learn, redis);
}

void cluster_done(struct redis *redis)
{
    loop_timer_stop(&redis->learn_timer);
    for (size_t i = 0; i < redis->node_count; i++)
        link_close(&redis->nodes[i]->commands);
}

enum redis_mode redis_mode(const struct redis *redis)
{
    return redis->mode;
}

bool redis_up(const struct redis *redis)
{
    bool up = false;

    for (size_t i = 0; i < redis->node_count; i++) {
        const struct node *node = redis->nodes[i];
        if (redis->mode == REDIS_MODE_CLUSTER && !node->listed)
            continue;
        bool connected = node->commands.state == LINK_UP;
        if (redis->mode == REDIS_MODE_CLUSTER && !connected)
            return false;
        up = up || connected;
    }
    return up;
}
