/* The directory: servers, and the projects that this process has loaded. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/harden.h"
#include "base/panic.h"
#include "project/project_private.h"

static struct str directory_number_key(const int64_t *number)
{
    return (struct str){(const char *)number, sizeof(*number)};
}

static void set_masters(struct directory *directory, const struct directory_config *config)
{
    struct master_keys *masters = &directory->masters;

    harden_hide(masters->keys, sizeof(masters->keys));
    MUST(config->old_master_key_count < MASTERS_MAX);
    masters->keys[0] = config->master_key;
    for (size_t i = 0; i < config->old_master_key_count; i++)
        masters->keys[i + 1] = config->old_master_keys[i];
    masters->count = config->old_master_key_count + 1;
    for (size_t i = 0; i < masters->count; i++)
        master_key_prepare(&masters->keys[i]);
}

/* The read of the epochs has its own server object, so that it never waits for other work: without
 * this read nothing is served. */
static struct db_server *new_pulse(const struct directory_config *config)
{
    struct db_config pulse = config->db;

    if (config->control_dsn != NULL)
        pulse.dsn = config->control_dsn;
    pulse.read_connections = 1;
    pulse.write_connections = 1;
    pulse.dedicated = true;
    return db_server_new("epochs", &pulse);
}

struct directory *directory_new(const struct directory_config *config)
{
    struct directory *directory = calloc(1, sizeof(*directory));

    if (directory == NULL)
        PANIC("out of memory");
    set_masters(directory, config);
    directory->record_bytes = config->record_bytes > 0 ? config->record_bytes : RECORD_BYTES;
    directory->redis = config->redis;
    directory->bus = config->bus;
    directory->projects = map_new();
    directory->numbers = map_new();
    directory->loads = map_new();
    list_init(&directory->singleflights);
    directory->control_read_ms = clock_mono_ms();

    servers_open(&directory->servers, &config->db, config->control_dsn);
    directory->control = directory->servers.control;
    directory->epoch_server = new_pulse(config);
    epoch_start(directory);
    epoch_subscribe(directory);
    return directory;
}

static void directory_close(struct directory *directory)
{
    struct str key;
    void *value;
    size_t cursor = 0;

    while (map_next(directory->projects, &cursor, &key, &value)) {
        struct project *project = value;
        project->cache->listed = false;
        project_unref(project);
    }
    servers_close(&directory->servers);
    db_server_free(directory->epoch_server);
    map_free(directory->projects);
    map_free(directory->numbers);
    map_free(directory->loads);
    for (size_t i = 0; i < directory->masters.count; i++)
        aead_key_wipe(&directory->masters.keys[i]);
    free(directory);
}

void directory_close_when_idle(struct directory *directory)
{
    if (directory->closing && list_empty(&directory->singleflights))
        directory_close(directory);
}

void directory_free(struct directory *directory)
{
    if (directory == NULL)
        return;
    directory->closing = true;
    epoch_stop(directory);
    epoch_unsubscribe(directory);
    LIST_FOR (node, &directory->singleflights)
        task_cancel(&LIST_ITEM(node, struct singleflight, link)->task);
    directory_close_when_idle(directory);
}

struct db *directory_control(struct directory *directory)
{
    return &directory->control;
}

struct db_server *directory_server(struct directory *directory, struct str name)
{
    return servers_find(&directory->servers, name);
}

int64_t directory_record_bytes(const struct directory *directory)
{
    return directory->record_bytes;
}

struct redis *directory_redis(struct directory *directory)
{
    return directory->redis;
}

struct bus *directory_bus(struct directory *directory)
{
    return directory->bus;
}

const struct directory_stats *directory_stats(const struct directory *directory)
{
    return &directory->stats;
}

void directory_control_record(struct directory *directory, int rc)
{
    if (rc == 0) {
        directory->control_read_ms = clock_mono_ms();
        directory->control_failures = 0;
    } else if (rc > 0) {
        directory->control_failures++;
    }
}

/* --- loaded projects --- */

void directory_add(struct directory *directory, struct project *project)
{
    MUST(map_put(directory->projects, project->slug, project) == NULL);
    MUST(map_put(directory->numbers, directory_number_key(&project->number), project) == NULL);
    project->cache->listed = true;
    directory->stats.projects = map_size(directory->projects);
}

void directory_remove(struct directory *directory, struct project *project)
{
    if (!project->cache->listed)
        return;
    project->cache->listed = false;
    (void)map_remove(directory->projects, project->slug);
    (void)map_remove(directory->numbers, directory_number_key(&project->number));
    directory->stats.projects = map_size(directory->projects);
    project_cache_drop(project);
    project_unref(project);
}

struct project *directory_by_number(const struct directory *directory, int64_t number)
{
    return map_get(directory->numbers, directory_number_key(&number));
}

int64_t directory_epoch(const struct directory *directory, int64_t number)
{
    const struct project *project = directory_by_number(directory, number);

    return project != NULL ? project->epoch : 0;
}

/* --- slugs known to be missing --- */

static size_t missing_slot(struct str slug)
{
    return str_hash(slug) % MISSING_SLOTS;
}

bool directory_is_missing(const struct directory *directory, struct str slug)
{
    const struct missing_slug *slot = &directory->missing[missing_slot(slug)];

    return slot->until_ms > clock_mono_ms() && str_eq((struct str){slot->slug, slot->len}, slug);
}

void directory_missing_set(struct directory *directory, struct str slug)
{
    struct missing_slug *slot = &directory->missing[missing_slot(slug)];

    MUST(slug.len <= SLUG_BYTES);
    slot->until_ms = clock_mono_ms() + MISSING_MS;
    slot->len = slug.len;
    memcpy(slot->slug, slug.ptr, slug.len);
}

void directory_missing_clear(struct directory *directory, struct str slug)
{
    struct missing_slug *slot = &directory->missing[missing_slot(slug)];

    if (str_eq((struct str){slot->slug, slot->len}, slug))
        slot->until_ms = 0;
}
