/*
 * One partition's work, in a coroutine of its own: a batch that was read, or abandoned entries.
 * Entries are acknowledged when the handler returns 0, moved to the dead letters when they are
 * malformed or were delivered too often, and left pending otherwise.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/panic.h"
#include "bus/bus_private.h"
#include "bus/wire_private.h"
#include "log/log.h"

/* Copies the raw fields of the entry to the dead letters, because a malformed entry may have any
 * fields, and acknowledges the entry. The script is atomic: an entry is either pending or a dead
 * letter. */
#define DEAD_SCRIPT                                                                                \
    "local e = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2]) "                                   \
    "if e[1] then local f = e[1][2] "                                                              \
    "redis.call('XADD', KEYS[2], 'MAXLEN', '~', '10000', '*', 'reason', ARGV[3], "                 \
    "'id', ARGV[2], 'group', ARGV[1], 'deliveries', ARGV[4], unpack(f, 1, math.min(#f, 200))) "    \
    "end return redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])"

enum { CLAIM_COUNT = 256, PENDING_COUNT = 10000 };

/* --- entries of an answer --- */

static struct str field_e(const struct redis_reply *fields)
{
    for (size_t i = 0; fields->kind == REDIS_KIND_ARRAY && i + 1 < fields->count; i += 2) {
        if (str_is(fields->items[i].text, "e"))
            return fields->items[i + 1].text;
    }
    return STR_NONE;
}

/* Copies the entries of an answer into the arena. */
static struct raw_entry *
copy_entries(struct arena *arena, const struct redis_reply *entries, size_t *ret_count)
{
    size_t count = entries->kind == REDIS_KIND_ARRAY ? entries->count : 0;
    struct raw_entry *raw = ARENA_ARRAY(arena, raw, count);
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        const struct redis_reply *entry = &entries->items[i];
        if (entry->kind != REDIS_KIND_ARRAY || entry->count != 2)
            continue;
        struct str bytes = field_e(&entry->items[1]);
        raw[used++] = (struct raw_entry){
            .id = arena_dup(arena, entry->items[0].text),
            .bytes = bytes.len > 0 ? arena_dup(arena, bytes) : STR_NONE,
            .deliveries = 1,
            .is_deleted = entry->items[1].kind != REDIS_KIND_ARRAY,
        };
    }
    *ret_count = used;
    return raw;
}

/* --- ends of entries --- */

AWAITS static int dead_letter(struct task *task,
                              struct partition *partition,
                              const struct raw_entry *raw,
                              const char *why)
{
    struct bus *bus = partition->consumer->bus;
    char deliveries[20];
    struct redis_reply reply = {0};
    int rc = redis_cmd(
        task,
        bus->redis,
        &reply,
        REDIS_ARGS(STR("EVAL"),
                   STR(DEAD_SCRIPT),
                   STR("2"),
                   str_from(partition->stream),
                   str_from(partition->dead),
                   str_from(partition->consumer->def.group),
                   raw->id,
                   str_from(why),
                   ((struct str){deliveries, num_print_i64(deliveries, raw->deliveries)})));

    if (rc == 0)
        bus->stats.dead++;
    log_debug("bus.dead_letter",
              L_CSTR("stream", partition->stream),
              L_STR("id", raw->id),
              L_CSTR("reason", why),
              L_RESULT("rc", rc));
    return rc;
}

AWAITS static int
acknowledge(struct task *task, struct partition *partition, const struct str *ids, size_t count)
{
    struct bus *bus = partition->consumer->bus;
    struct str *argv = ARENA_ARRAY(task->arena, argv, count + 3);
    struct redis_reply reply = {0};

    argv[0] = STR("XACK");
    argv[1] = str_from(partition->stream);
    argv[2] = str_from(partition->consumer->def.group);
    memcpy(argv + 3, ids, count * sizeof(*ids));
    TRY(redis_cmd(task, bus->redis, &reply, count + 3, argv));
    bus->stats.acked += (uint64_t)reply.number;
    return 0;
}

/* --- a batch --- */

/* Returns why an entry is a dead letter, or NULL with *ret_entry for the handler. */
static const char *dead_letter_reason(struct task *task,
                                      const struct partition *partition,
                                      const struct raw_entry *raw,
                                      struct bus_entry *ret_entry)
{
    if (raw->deliveries > partition->consumer->def.max_deliveries)
        return "delivered too often";
    if (wire_unpack(task->arena, raw->bytes, ret_entry) != 0)
        return "not an envelope";
    ret_entry->partition = partition->number;
    ret_entry->deliveries = raw->deliveries;
    return NULL;
}

/* co: Handles the batch. Returns non-zero when a command to Redis fails; a failed handler leaves
 * its entries pending. */
AWAITS static int partition_handle(struct task *task, struct partition *partition)
{
    const struct bus_consumer *def = &partition->consumer->def;
    struct bus *bus = partition->consumer->bus;
    struct bus_entry *entries = ARENA_ARRAY(task->arena, entries, partition->raw_count);
    struct str *ids = ARENA_ARRAY(task->arena, ids, partition->raw_count);
    size_t count = 0;

    for (size_t i = 0; i < partition->raw_count; i++) {
        const struct raw_entry *raw = &partition->raw[i];
        if (raw->is_deleted) {
            bus->stats.lost++;
            TRY(acknowledge(task, partition, &raw->id, 1));
            continue;
        }
        const char *why = dead_letter_reason(task, partition, raw, &entries[count]);
        if (why)
            TRY(dead_letter(task, partition, raw, why));
        else
            ids[count++] = raw->id;
    }
    if (count == 0)
        return 0;
    task->deadline_ms = clock_mono_ms() + def->handler_ms;
    int rc = def->handle(task, entries, count, def->arg);
    task->deadline_ms = 0;
    if (rc == 0)
        return acknowledge(task, partition, ids, count);
    bus->stats.failed += count;
    return 0;
}

/* Makes partition->next the batch of the task. Returns false when no batch waits there. */
static bool next_batch(struct task *task, struct partition *partition)
{
    struct arena *arena = partition->arena;

    if (partition->next_count == 0)
        return false;
    arena_reset(arena);
    task->arena = partition->arena = partition->next_arena;
    partition->next_arena = arena;
    partition->raw = partition->next;
    partition->raw_count = partition->next_count;
    partition->next_count = 0;
    return true;
}

AWAITS static void partition_handle_next(struct task *task, struct partition *partition)
{
    struct bus *bus = partition->consumer->bus;

    while (next_batch(task, partition))
        (void)partition_handle(task, partition); /* pending entries are delivered again */
    partition->raw = NULL;
    partition->raw_count = 0;
    arena_reset(partition->arena);
    partition->busy = false;
    reader_partition_done(partition->reader);
    bus_coroutine_end(bus);
}

AWAITS static void partition_run_batch(struct task *task, void *arg)
{
    partition_handle_next(task, arg);
}

/* --- abandoned entries --- */

/* Reads how often each entry of the batch was delivered. The number is certain only after the
 * claim, when the entries belong to this consumer. */
AWAITS static int count_deliveries(struct task *task, struct partition *partition)
{
    struct redis_reply reply = {0};
    char most[20];
    const struct consumer *consumer = partition->consumer;

    if (partition->raw_count == 0)
        return 0;
    TRY(redis_cmd(task,
                  consumer->bus->redis,
                  &reply,
                  REDIS_ARGS(STR("XPENDING"),
                             str_from(partition->stream),
                             str_from(consumer->def.group),
                             partition->raw[0].id,
                             partition->raw[partition->raw_count - 1].id,
                             ((struct str){most, num_print_i64(most, PENDING_COUNT)}),
                             str_from(consumer->name))));
    size_t next = 0; /* both lists are in the order of ids */
    for (size_t i = 0; reply.kind == REDIS_KIND_ARRAY && i < reply.count; i++) {
        const struct redis_reply *row = &reply.items[i];
        if (row->kind != REDIS_KIND_ARRAY || row->count != 4)
            continue;
        while (next < partition->raw_count && !str_eq(partition->raw[next].id, row->items[0].text))
            next++;
        if (next == partition->raw_count) {
            next = 0;
            continue;
        }
        partition->raw[next++].deliveries = (unsigned)row->items[3].number;
    }
    return 0;
}

/* co: Claims up to CLAIM_COUNT abandoned entries from *cursor on and advances *cursor. */
AWAITS static int
partition_claim(struct task *task, struct partition *partition, struct str *cursor)
{
    struct consumer *consumer = partition->consumer;
    struct bus_stats *stats = &consumer->bus->stats;
    struct redis_reply reply = {0};
    char idle[20];
    char most[20];

    TRY(redis_cmd(task,
                  consumer->bus->redis,
                  &reply,
                  REDIS_ARGS(STR("XAUTOCLAIM"),
                             str_from(partition->stream),
                             str_from(consumer->def.group),
                             str_from(consumer->name),
                             ((struct str){idle, num_print_i64(idle, consumer->def.retry_ms)}),
                             *cursor,
                             STR("COUNT"),
                             ((struct str){most, num_print_i64(most, CLAIM_COUNT)}))));
    if (reply.kind != REDIS_KIND_ARRAY || reply.count < 2)
        return REDIS_ERROR;
    *cursor = reply.items[0].text;
    if (reply.count > 2 && reply.items[2].kind == REDIS_KIND_ARRAY)
        stats->lost += reply.items[2].count;
    partition->raw = copy_entries(partition->arena, &reply.items[1], &partition->raw_count);
    stats->reclaimed += partition->raw_count;
    return count_deliveries(task, partition);
}

AWAITS static void run_claim(struct task *task, void *arg)
{
    struct partition *partition = arg;
    char cursor[BUS_ID_BYTES] = "0-0";

    do {
        struct str at = str_from(cursor);
        if (partition_claim(task, partition, &at) != 0 || partition_handle(task, partition) != 0)
            break;
        (void)snprintf(cursor, sizeof(cursor), "%.*s", STR_ARG(at));
        arena_reset(partition->arena);
    } while (strcmp(cursor, "0-0") != 0 && !partition->consumer->bus->stopping);
    partition_handle_next(task, partition);
}

/* --- starting --- */

static void partition_start(struct partition *partition, task_fn fn)
{
    MUST(!partition->busy);
    partition->busy = true;
    partition->reader->busy++;
    bus_coroutine_begin(partition->consumer->bus);
    partition->task = (struct task){.arena = partition->arena};
    task_start(&partition->task, fn, partition);
}

void partition_take(struct partition *partition, const struct redis_reply *entries)
{
    MUST(partition->next_count == 0);
    arena_reset(partition->next_arena);
    partition->next = copy_entries(partition->next_arena, entries, &partition->next_count);
    partition->consumer->bus->stats.read += partition->next_count;
    if (partition->next_count > 0 && !partition->busy)
        partition_start(partition, partition_run_batch);
}

void partition_start_claim(struct partition *partition)
{
    partition_start(partition, run_claim);
}
