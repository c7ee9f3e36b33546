#pragma once
/*
 * The directory's insides, shared loads (singleflight) and what hangs off a project.
 *
 * A singleflight is background work that is done once for all tasks that wait for it. It has a task
 * of its own, so that the first caller's disconnect does not fail the others, and a change that
 * must be finished is finished.
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
    struct loop_hook hook; /* frees it when its coroutine has ended */
};

/* any: a singleflight that does not run yet; its arena is for the argument. Ends by itself after
 * limit_ms. */
struct singleflight *singleflight_new(struct directory *directory, int64_t limit_ms);
/* any: runs fn(task, arg) and then end(arg) (may be NULL), which removes the singleflight from its
 * owner; then the waiters wake with fn's result. Negative results become PROJECT_UNAVAILABLE. */
void singleflight_run(struct singleflight *singleflight,
                      singleflight_fn fn,
                      singleflight_end_fn end,
                      void *arg);
/* co: fn's result, or -ECANCELED, -ETIMEDOUT of the waiting task; the singleflight goes on. */
AWAITS int singleflight_join(struct task *task, struct singleflight *singleflight) MUSTCHECK;

/* --- the directory --- */

/* Older knowledge of the control schema is not acted upon. */
#define EPOCH_STALE_MS 5000
#define EPOCH_READ_MS  1000
#define EPOCH_FIRST    1 /* of a new project */

/* Slugs looked up and not found, for a second: one slot per hash, so a flood takes no memory. */
#define MISSING_SLOTS 1024
#define MISSING_MS    1000
#define SLUG_BYTES    48
struct missing {
    int64_t until_ms;
    size_t len;
    char slug[SLUG_BYTES];
};

#define RECORD_BYTES ((int64_t)8 << 20)

struct directory {
    struct servers servers;
    struct db control; /* of the servers */
    struct master_keys masters;
    int64_t record_bytes;
    struct redis *redis;    /* NULL = none, or closing */
    struct bus *bus;        /* the same */
    struct list subscribed; /* epoch_notify.c */
    uintptr_t subscriber_id;
    struct db_server
        *pulse; /* one connection to the same server, for the read of the epochs alone */

    struct map *projects; /* slug -> struct project, one reference each */
    struct map *numbers;  /* number (8 bytes) -> the same */
    struct map *loads;    /* slug -> struct singleflight that loads it */
    struct missing missing[MISSING_SLOTS];

    struct list singleflights;

    struct loop_timer tick;
    struct singleflight *reader; /* reads the epochs */
    int64_t control_ok_ms;       /* mono: control schema last read */
    int64_t sweep_due_ms;

    struct directory_stats stats;

    unsigned control_failures; /* since control_ok_ms */
    bool read_again;           /* a hint came while the reader ran */
    bool sweeping;
    bool closing;
};

/* any: lists a loaded project; the directory takes over the caller's reference. */
void directory_list(struct directory *directory, struct project *project);
/* any: unlists it and drops the directory's reference: whoever holds it keeps it. */
void directory_forget(struct directory *directory, struct project *project);
struct project *directory_by_number(const struct directory *directory, int64_t number);
/* any: slugs known to be missing. */
bool directory_missing(const struct directory *directory, struct str slug);
void directory_missing_set(struct directory *directory, struct str slug);
void directory_missing_clear(struct directory *directory, struct str slug);
/* any: last thing of directory_free(), and of the last singleflight after it. */
void directory_close_when_idle(struct directory *directory);
/* any: notes that the control schema was read just now (rc = 0), or could not be. */
void directory_control_seen(struct directory *directory, int rc);

/* --- epochs (epoch.c) --- */

void epoch_start(struct directory *directory);
void epoch_stop(struct directory *directory);
/* co: 0 when what the control schema says is known well enough, PROJECT_UNAVAILABLE, or a negative.
 */
AWAITS int epoch_fresh(struct task *task, struct directory *directory) MUSTCHECK;
/* any: the next read now; one more when one is under way. */
void epoch_read_now(struct directory *directory);

/* --- notifications over Redis (epoch_notify.c) --- */

void epoch_subscribe(struct directory *directory);
void epoch_unsubscribe(struct directory *directory);
/* any: notifies the other processes. */
void epoch_publish(struct directory *directory, int64_t number, int64_t epoch);

/* --- projects --- */

/* Texts of one version of name and settings; requests hold the one they started with. */
struct facts {
    struct arena *arena; /* it lives there itself */
    int refs;
};

struct project_cache {
    struct arena *arena; /* of the project itself */
    struct directory *directory;
    struct facts *facts;
    int64_t used_ms; /* mono */
    bool listed;

    /* Synchronisation with the database: tickets are drawn before, and served by a sync begun
     * after. */
    struct singleflight *sync;
    uint64_t sync_wanted, sync_done;
    bool sync_again; /* tickets were drawn while it ran */
    bool touch_due;  /* our own change is not yet in the control schema */

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
/* co: brings name, settings and model up to what was committed before the call. 0,
 * PROJECT_NOT_FOUND, PROJECT_UNAVAILABLE, or a negative. */
AWAITS int project_sync(struct task *task, struct project *project) MUSTCHECK;
/* any: the same without waiting. */
void project_sync_start(struct project *project);
/* co: until what was asked for so far is done; results as of project_sync(). */
AWAITS int project_sync_wait(struct task *task, struct project *project) MUSTCHECK;

void project_cache_init(struct project *project);
void project_cache_done(struct project *project);
/* any: forgets rights and credentials. */
void project_cache_drop(struct project *project);

/* co: data keys as the state row has them, adopted if there are none; new ones are added to the
 * project's. A DB_* (DB_FAILED: the newest cannot be unwrapped) or a negative. */
AWAITS int data_keys_take(struct task *task,
                          struct project *project,
                          struct sql_i64s ids,
                          struct sql_strs texts) MUSTCHECK;
/* any: wipes them. */
void data_keys_drop(struct project *project);
/* co: reads settings, data keys (and the model's version) of a project into `arena`. A DB_* or a
 * negative. */
AWAITS int settings_read(struct task *task,
                         struct project *project,
                         struct arena *arena,
                         struct project_settings *ret_settings,
                         int64_t *ret_model_version) MUSTCHECK;

/* co: drops a project's schema with everything in it. A DB_* or a negative. */
AWAITS int project_drop_schema(struct task *task, struct db *db) MUSTCHECK;
