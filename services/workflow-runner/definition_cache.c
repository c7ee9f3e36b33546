/* The cache of parsed workflow versions. Callers that need a version at the same time share one
 * load. The least recently used version is dropped first. */
#include "definition_cache.h"

#include <errno.h>

#include "base/map.h"
#include "json/jr.h"
#include "log/log.h"
#include "runner_run_sql.h"

#define TREE_FACTOR      8 /* approximate size of a parsed tree, in bytes per byte of its text */
#define PROJECT_FRACTION 4 /* a project's share is a quarter of DEFINITIONS_BYTES */

struct key {
    int64_t project, workflow, version;
};

struct entry {
    struct workflow_version version; /* first, because callers hold a pointer to it */
    struct key key;
    struct list order;
    struct arena *arena; /* owns this entry too */
    size_t bytes;
    int refs;
};

/* A load under way, on the stack of the task that runs it. */
struct load {
    struct list waiters;
};
struct waiter {
    struct await await;
    struct list link;
};

static struct {
    struct map *entries, *loads;
    struct list order; /* least recently used first */
    size_t bytes;
} cache;

static struct str key_text(const struct key *key)
{
    return (struct str){(const char *)key, sizeof(*key)};
}

static void cache_open(void)
{
    if (cache.entries != NULL)
        return;
    cache.entries = map_new();
    cache.loads = map_new();
    list_init(&cache.order);
}

static void entry_unref(void *ptr)
{
    struct entry *entry = ptr;

    if (--entry->refs == 0)
        arena_free(entry->arena);
}

static void entry_drop(struct entry *entry)
{
    (void)map_remove(cache.entries, key_text(&entry->key));
    list_remove(&entry->order);
    cache.bytes -= entry->bytes;
    entry_unref(entry);
}

/* Drops the versions of the project of `newest` that exceed the project's share, counted from the
 * most recently used version. Other projects lose nothing. */
static void drop_beyond_share(const struct entry *newest)
{
    size_t bytes = newest->bytes;
    struct list *before;

    for (struct list *it = newest->order.prev; it != &cache.order; it = before) {
        struct entry *entry = LIST_ITEM(it, struct entry, order);
        before = it->prev;
        if (entry->key.project != newest->key.project)
            continue;
        if (bytes + entry->bytes > DEFINITIONS_BYTES / PROJECT_FRACTION)
            entry_drop(entry);
        else
            bytes += entry->bytes;
    }
}

static void entry_store(struct entry *entry)
{
    (void)map_put(cache.entries, key_text(&entry->key), entry);
    list_append(&cache.order, &entry->order);
    cache.bytes += entry->bytes;
    drop_beyond_share(entry);
    while (cache.bytes > DEFINITIONS_BYTES && cache.order.next != &entry->order)
        entry_drop(LIST_ITEM(cache.order.next, struct entry, order));
}

static const struct workflow_version *entry_hold(struct arena *arena, struct entry *entry)
{
    list_remove(&entry->order);
    list_append(&cache.order, &entry->order);
    entry->refs++;
    arena_defer(arena, entry_unref, entry);
    return &entry->version;
}

/* --- reading --- */

static struct str print_findings(struct arena *arena, const struct schema_errors *errors)
{
    if (errors->count == 0)
        return STR("The stored workflow cannot be read.");
    return arena_printf(
        arena, "%.*s: %.*s", STR_ARG(errors->items[0].field), STR_ARG(errors->items[0].message));
}

static void
parse_stored_version(struct arena *arena, struct workflow_version *version, struct str text)
{
    struct schema_errors *errors = ARENA_NEW(arena, errors);
    struct definition_secret *secrets;
    struct jr_error error;
    json_t *doc;

    if (jr_parse_stored(arena, arena_dup(arena, text), &doc, &error) != 0 ||
        !definition_parse(arena, doc, &version->definition, errors)) {
        version->invalid = print_findings(arena, errors);
        return;
    }
    size_t count = definition_secrets(arena, &version->definition, &secrets);
    struct str *names = ARENA_ARRAY(arena, names, count);
    for (size_t i = 0; i < count; i++)
        names[i] = secrets[i].name;
    version->secrets = names;
    version->secret_count = count;
}

static struct entry *entry_new(const struct key *key, const struct rows *rows)
{
    struct arena *arena = arena_new(0);
    struct entry *entry = ARENA_NEW(arena, entry);
    const struct sql_run_version_row row = sql_run_version_row(rows, 0);

    entry->arena = arena;
    entry->key = *key;
    entry->refs = 1;
    entry->version.editor_id = row.editor_id.value;
    entry->version.editor_key_id = row.editor_key_id.value;
    parse_stored_version(arena, &entry->version, row.doc);
    if (entry->version.invalid.ptr != NULL)
        log_warn("definition.invalid",
                 L_I64("project", key->project),
                 L_I64("workflow", key->workflow),
                 L_I64("version", key->version),
                 L_STR("reason", entry->version.invalid));
    entry->bytes = arena_held_bytes(arena) + row.doc.len * TREE_FACTOR;
    return entry;
}

AWAITS static int read_version(struct task *task, struct db *db, const struct key *key)
{
    struct rows rows;

    int rc = db_query(
        task, db, SQL_RUN_VERSION(.workflow_id = key->workflow, .version = key->version), &rows);
    if (rc == DB_SCHEMA)
        return DEFINITION_NOT_FOUND;
    if (rc != 0)
        return rc;
    if (rows.count == 0)
        return DEFINITION_NOT_FOUND;
    entry_store(entry_new(key, &rows));
    return 0;
}

/* --- shared loads --- */

static void load_abandon(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct waiter, await)->link);
}

/* co: Waits for another task's load and returns its result; -EAGAIN when the task was cancelled. */
AWAITS static int wait_for_load(struct task *task, struct load *load)
{
    struct waiter waiter = {.await = {.abandon = NULL}};

    await_init(&waiter.await);
    waiter.await.abandon = load_abandon;
    list_append(&load->waiters, &waiter.link);
    return await_wait(task, &waiter.await, 0);
}

AWAITS static int
definition_cache_load_version(struct task *task, struct db *db, const struct key *key)
{
    struct load load;
    struct list *node;

    list_init(&load.waiters);
    (void)map_put(cache.loads, key_text(key), &load);
    int rc = read_version(task, db, key);
    (void)map_remove(cache.loads, key_text(key));
    while ((node = list_shift(&load.waiters)))
        await_done(&LIST_ITEM(node, struct waiter, link)->await, rc < 0 ? -EAGAIN : rc);
    return rc;
}

int definition_load(struct task *task,
                    struct db *db,
                    int64_t workflow_id,
                    int64_t number,
                    const struct workflow_version **ret_version)
{
    const struct key key = {db->schema, workflow_id, number};

    cache_open();
    for (;;) {
        struct entry *entry = map_get(cache.entries, key_text(&key));
        if (entry != NULL) {
            *ret_version = entry_hold(task->arena, entry);
            return 0;
        }
        struct load *load = map_get(cache.loads, key_text(&key));
        int rc = load != NULL ? wait_for_load(task, load)
                              : definition_cache_load_version(task, db, &key);
        if (rc != 0 && rc != -EAGAIN)
            return rc;
    }
}

int definition_find(struct job *job, const struct workflow_version **ret_version)
{
    if (job->orphan)
        return DEFINITION_NOT_FOUND;
    return definition_load(
        &job->item.task, &job->item.db, job->workflow_id, job->version, ret_version);
}
