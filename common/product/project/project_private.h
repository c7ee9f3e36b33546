#pragma once
/*
 * Private parts of the directory and of projects, and shared loads (singleflight).
 *
 * A singleflight is background work that runs once for all tasks that wait for its result. It has a
 * task of its own, for two reasons: a disconnect of the first caller does not fail the other
 * callers, and a change that has begun is always finished.
 */
#include "base/list.h"
#include "base/map.h"
#include "keys/data_key.h"
#include "loop/loop.h"
#include "project/project.h"
#include "servers/servers.h"

/* --- singleflights --- */

typedef int (*singleflight_fn)(struct task *task, void *arg); /* AWAITS */
typedef void (*singleflight_end_fn)(void *arg);

struct singleflight {
    struct task task;
    struct directory *directory;
    struct list link;    /* in directory->singleflights */
    struct list waiters; /* struct waiter of singleflight.c */
    singleflight_fn fn;
    singleflight_end_fn end;
    void *arg;
    struct loop_hook hook; /* frees the singleflight after its coroutine has ended */
};

/* any: makes a singleflight that does not run yet. Its arena is for the argument. Its task fails
 * with -ETIMEDOUT after limit_ms. */
struct singleflight *singleflight_new(struct directory *directory, int64_t limit_ms);
/* any: runs fn(task, arg), then end(arg) (may be NULL), which removes the singleflight from its
 * owner. Then wakes the waiters with fn's result; negative results become PROJECT_UNAVAILABLE. */
void singleflight_run(struct singleflight *singleflight,
                      singleflight_fn fn,
                      singleflight_end_fn end,
                      void *arg);
/* co: waits. Returns fn's result, or -ECANCELED or -ETIMEDOUT of the waiting task; the singleflight
 * continues in that case. */
AWAITS int singleflight_join(struct task *task, struct singleflight *singleflight) MUSTCHECK;

/* --- the directory --- */

/* When the last successful read of the control schema is older than this, epoch_wait_fresh() fails
 * if a read has failed since. Otherwise it waits for one read and returns that read's result. */
#define EPOCH_STALE_MS 5000
#define EPOCH_READ_MS  1000
#define EPOCH_FIRST    1 /* epoch of a new project */

/* Slugs that were not found stay cached for a second. Each hash has one slot, so that a flood of
 * slugs takes no more memory. */
#define MISSING_SLOTS 1024
#define MISSING_MS    1000
#define SLUG_BYTES    48
struct missing_slug {
    int64_t until_ms;
    size_t len;
    char slug[SLUG_BYTES];
};

#define RECORD_BYTES ((int64_t)8 << 20)

struct directory {
    struct servers servers;
    struct db control; /* same as servers.control */
    struct master_keys masters;
    int64_t record_bytes;
    struct redis *redis;    /* NULL = none, or closing */
    struct bus *bus;        /* NULL = none, or closing */
    struct list subscribed; /* node in the list of epoch_notify.c */
    uintptr_t subscriber_id;
    struct db_server *epoch_server; /* dedicated connection for the read of the epochs */

    struct map *projects; /* slug -> struct project, one reference each */
    struct map *numbers;  /* number (8 bytes) -> struct project */
    struct map *loads;    /* slug -> struct singleflight that loads it */
    struct missing_slug missing[MISSING_SLOTS];

    struct list singleflights;

    struct loop_timer tick;
    struct singleflight *reader; /* reads the epochs; NULL = no read is running */
    int64_t control_read_ms;     /* mono: last successful read of the control schema */
    int64_t sweep_due_ms;

    struct directory_stats stats;

    unsigned control_failures; /* failed reads since control_read_ms */
    bool reader_repeat;        /* another read was requested while the reader ran */
    bool sweeping;
    bool closing;
};

/* any: adds a loaded project. The directory takes over the caller's reference. */
void directory_add(struct directory *directory, struct project *project);
/* any: removes the project from the directory and drops the directory's reference. Tasks that hold
 * the project may still use it. */
void directory_remove(struct directory *directory, struct project *project);
struct project *directory_by_number(const struct directory *directory, int64_t number);
/* any: directory_is_missing() returns whether the slug is cached as missing,
 * directory_missing_set() caches it as missing, directory_missing_clear() removes it from this
 * cache. */
bool directory_is_missing(const struct directory *directory, struct str slug);
void directory_missing_set(struct directory *directory, struct str slug);
void directory_missing_clear(struct directory *directory, struct str slug);
/* any: frees the directory when it is closing and no singleflight is left. Called at the end of
 * directory_free() and of each singleflight. */
void directory_close_when_idle(struct directory *directory);
/* any: records a read of the control schema: it succeeded (rc = 0), or failed (rc > 0). */
void directory_control_record(struct directory *directory, int rc);

/* --- epochs (epoch.c) --- */

void epoch_start(struct directory *directory);
void epoch_stop(struct directory *directory);
/* co: returns 0 when the last successful read of the control schema is at most EPOCH_STALE_MS old.
 * Otherwise returns PROJECT_UNAVAILABLE if a read has failed since, or the result of one read that
 * it waits for: 0, PROJECT_UNAVAILABLE or a negative. */
AWAITS int epoch_wait_fresh(struct task *task, struct directory *directory) MUSTCHECK;
/* any: reads the epochs now. If a read is running, another one follows it. */
void epoch_read_now(struct directory *directory);

/* --- notifications over Redis (epoch_notify.c) --- */

void epoch_subscribe(struct directory *directory);
void epoch_unsubscribe(struct directory *directory);
/* any: notifies the other processes of a project's epoch. */
void epoch_publish(struct directory *directory, int64_t number, int64_t epoch);

/* --- projects --- */

/* Texts of one version of name and settings. A request holds the version that it started with. */
struct project_texts {
    struct arena *arena; /* the struct itself is in this arena */
    int refs;
};

struct project_cache {
    struct arena *arena; /* contains the project itself */
    struct directory *directory;
    struct project_texts *facts;
    int64_t used_ms; /* mono */
    bool listed;

    /* Synchronisation with the database. A caller draws a ticket. The ticket is served by a sync
     * that began after it was drawn. */
    struct singleflight *sync;
    uint64_t sync_wanted, sync_done;
    bool sync_repeat;     /* tickets were drawn while the sync ran */
    bool epoch_raise_due; /* a change of this process has not yet raised the epoch */

    /* Rights and credentials (project_cache.c). */
    uint64_t generation;
    int64_t dropped_ms; /* mono */
    struct map *rights;
    struct list rights_order; /* least recently used first */
    struct map *rights_loads; /* generation, user, key -> struct singleflight */
    struct map *credentials;
    struct list credentials_order;
};

struct project *project_ref(struct project *project);
void project_unref(struct project *project);
/* co: brings name, settings and model up to date with everything committed before the call. Returns
 * 0, PROJECT_NOT_FOUND, PROJECT_UNAVAILABLE or a negative. */
AWAITS int project_sync(struct task *task, struct project *project) MUSTCHECK;
/* any: starts the same sync without waiting. */
void project_sync_start(struct project *project);
/* co: waits until all syncs requested so far are done. Results as of project_sync(). */
AWAITS int project_sync_wait(struct task *task, struct project *project) MUSTCHECK;

/* any: project_cache_init() sets up the caches of rights and credentials, project_cache_free()
 * frees them. */
void project_cache_init(struct project *project);
void project_cache_free(struct project *project);
/* any: drops cached rights and credentials. */
void project_cache_drop(struct project *project);

/* co: adds the data keys of the state row to the project's keys. If there are no ids, first stores
 * the key of earlier releases (data_key_store_legacy()). Returns 0, a DB_* (DB_FAILED: the newest
 * key cannot be unwrapped) or a negative. */
AWAITS int data_keys_update(struct task *task,
                            struct project *project,
                            struct sql_i64s ids,
                            struct sql_strs texts) MUSTCHECK;
/* any: wipes and frees the project's data keys. */
void data_keys_wipe(struct project *project);
/* co: reads settings, data keys and model version of a project. The settings' texts are in `arena`.
 * Returns 0, a DB_* or a negative. */
AWAITS int settings_read(struct task *task,
                         struct project *project,
                         struct arena *arena,
                         struct project_settings *ret_settings,
                         int64_t *ret_model_version) MUSTCHECK;

/* co: drops a project's schema with everything in it. Returns 0, a DB_* or a negative. */
AWAITS int project_drop_schema(struct task *task, struct db *db) MUSTCHECK;
