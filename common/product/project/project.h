#pragma once
/*
 * Projects and the state that a process caches of them: settings, model, rights, verified
 * credentials. The directory knows the control schema and every server. It reads the epochs of the
 * loaded projects once a second, or at once after a Redis message, and drops cached state that an
 * epoch outdates. When the control schema could not be read for five seconds, project_find() fails
 * closed with PROJECT_UNAVAILABLE.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "crypto/aead.h"
#include "db/db.h"
#include "model/model.h"
#include "rights/rights.h"

struct directory;
struct redis;
struct bus;

/* Settings of PUT {base_url}/. setting.def documents the members. */
struct project_settings {
    struct str *allowed_origins;
    size_t allowed_origin_count; /* "*" = any */
#define SETTING_I64(member, ...)  int64_t member;
#define SETTING_ID(member, ...)   int64_t member; /* 0 = none */
#define SETTING_BOOL(member, ...) bool member;
#define SETTING_STR(member, ...)  struct str member; /* empty = none */
#define SETTING_STRS(member, number, ...)                                                          \
    struct str *member;                                                                            \
    size_t number;
#include "project/setting.def"
    struct str oidc_client_secret; /* in plain text; empty = none */
    struct str collation; /* PostgreSQL's collation for the locale, or a fallback; never empty */
};

/* A change of the project replaces the texts of `name` and `settings` while requests run. A request
 * that needs such a text after a wait copies it into its arena before. */
struct project {
    int64_t number;
    struct str slug, name;
    int partition;
    int64_t epoch;
    struct db db; /* the project's schema on its server, autocommit */
    struct project_settings settings;
    struct model *model;      /* current snapshot; never NULL while the caller holds the project */
    struct aead_key data_key; /* the newest of data_keys; seals */
    struct aead_key
        *data_keys; /* all keys, to open (unseal.h); owned; replaced when one is added */
    size_t data_key_count;
    int64_t created_ms, updated_ms;
    struct project_cache *cache; /* private: rights, credentials */
    int refs;
};

/* any: parses a time that people wrote (clock_read()). A time without an offset is in the project's
 * time zone, or in UTC if `project` is NULL. A date is its first moment in that zone. Returns false
 * if `text` is neither a date nor a time. Loop thread only. */
bool project_time_parse(const struct project *project, struct str text, int64_t *ret_wall_ms);

struct directory_config {
    const char *control_dsn;
    struct db_config db;        /* template for all servers; its dsn is the main server */
    struct redis *redis;        /* may be NULL */
    struct bus *bus;            /* may be NULL: consumers get no notification of new outbox rows */
    struct aead_key master_key; /* wraps data keys; the directory sets the ids of master keys */
    const struct aead_key *old_master_keys; /* only unwrap data keys; borrowed for the call */
    size_t old_master_key_count;            /* at most 3 */
    int64_t record_bytes;                   /* largest stored record; 0 = 8 MB */
};

/* Makes the directory, which the caller owns. Call once in a process and after the fork: its timer
 * and connections belong to the loop. */
struct directory *directory_new(const struct directory_config *config);
/* any: cancels background work, then closes the servers. If background work was running, the
 * servers close one or two ticks of the loop later. */
void directory_free(struct directory *directory);
struct db *directory_control(struct directory *directory); /* control schema, autocommit */
struct db_server *directory_server(struct directory *directory,
                                   struct str name); /* NULL = unknown name */
/* any: the largest size of a stored record, in bytes. */
int64_t directory_record_bytes(const struct directory *directory);
/* any: NULL when there is none or the directory is closing. */
struct redis *directory_redis(struct directory *directory);
/* any: NULL when there is none or the directory is closing. bus_notify() accepts NULL. */
struct bus *directory_bus(struct directory *directory);

/* co: finds a project and holds it with its model snapshot and settings until the task's arena
 * ends. Cached; otherwise reads control row, settings and model. Returns 0, PROJECT_NOT_FOUND,
 * PROJECT_UNAVAILABLE or a negative. */
AWAITS int project_find(struct task *task,
                        struct directory *directory,
                        struct str slug,
                        struct project **ret_project) MUSTCHECK;

/* co: the wait with which project_find() begins. After it project_is_known() decides whether
 * project_find() has to query the database. Results as of project_find(). */
AWAITS int project_epochs_wait(struct task *task, struct directory *directory) MUSTCHECK;
/* any: whether project_find() needs no new query for this slug: the project is loaded, being
 * loaded, known to be missing, or the slug is malformed. */
bool project_is_known(const struct directory *directory, struct str slug);

/* co: like project_find(), by the number that work passed between services uses. */
AWAITS int project_find_number(struct task *task,
                               struct directory *directory,
                               int64_t number,
                               struct project **ret_project) MUSTCHECK;

/* any: project, model snapshot and settings stay valid until the arena ends. */
void project_hold(struct arena *arena, struct project *project);

/* co: rights of a user or API key, cached and held until the arena ends. Returns 0,
 * RIGHTS_NOT_FOUND, PROJECT_UNAVAILABLE or a negative. */
AWAITS int project_rights(struct task *task,
                          struct project *project,
                          int64_t user_id,
                          int64_t key_id,
                          const struct rights **ret_rights) MUSTCHECK;

/* co: raises the epoch after a committed change of model, rights, sessions or settings. This
 * process knows the change at once, other processes within a second. Errors are only logged:
 * another process that cannot read the epochs serves nothing after five seconds. */
AWAITS void
project_epoch_raise(struct task *task, struct directory *directory, struct project *project);
/* co: reloads the model now, after a statement has failed with DB_SCHEMA. The model is held until
 * the arena ends. Returns 0, PROJECT_NOT_FOUND, PROJECT_UNAVAILABLE or a negative. */
AWAITS int project_reload_model(struct task *task,
                                struct project *project,
                                const struct model **ret_model) MUSTCHECK;

/* co: reads the epoch now, in one read for all concurrent callers. *ret_changed: the epoch had
 * moved and the project has been read again. Call before a refusal that another process's change
 * may have made wrong. Returns 0, PROJECT_NOT_FOUND, PROJECT_UNAVAILABLE or a negative. */
AWAITS int project_epoch_recheck(struct task *task, struct project *project, bool *ret_changed)
    MUSTCHECK;

/* A verified credential, cached by the hash of the token or key text until the epoch moves. */
struct credential {
    int64_t user_id, session_id, key_id;
    int64_t expires_ms; /* wall: exp of the token, or the end of the key */
    int64_t checked_ms; /* mono, from before the row was read; read again after 5 s */
};
/* any: borrowed until the next await; NULL when unknown or expired. */
const struct credential *project_credential_get(struct project *project, struct str token);
/* any: copies `credential`. Ignored when the epoch has moved since checked_ms, because the
 * credential may be outdated. */
void project_credential_put(struct project *project,
                            struct str token,
                            const struct credential *credential);

struct project_create {
    struct str slug, name, admin_email, admin_password_hash;
};
/* co: creates a project: control row, schema, tables, roles, signing key, administrator. A later
 * call with the same slug takes over an attempt that died. On success the project is held until the
 * task's arena ends. Returns 0, PROJECT_EXISTS, a DB_* or a negative. */
AWAITS int project_create(struct task *task,
                          struct directory *directory,
                          const struct project_create *in,
                          struct project **ret_project) MUSTCHECK;
/* co: removes the project's schema with everything in it, then the control row. Returns 0,
 * PROJECT_NOT_FOUND, a DB_* or a negative. */
AWAITS int project_delete(struct task *task, struct directory *directory, struct project *project)
    MUSTCHECK;

/* co: finishes interrupted deletions. The directory calls this once a minute. */
AWAITS void directory_sweep(struct task *task, struct directory *directory);

struct directory_stats {
    uint64_t project_hits, project_misses, rights_hits, rights_misses, token_hits, token_misses,
        model_loads, epoch_reads;
    size_t projects;
};
/* any: counters since the start. Borrowed until directory_free(). */
const struct directory_stats *directory_stats(const struct directory *directory);

/* any: the epoch that this process knows; 0 = the project is not loaded. */
int64_t directory_epoch(const struct directory *directory, int64_t number);

/* any: notifies all consumers that the project has outbox rows. Never waits; a lost notification is
 * harmless. */
void events_notify(struct directory *directory, const struct project *project);
/* any: notifies only the search indexer: of outbox rows, of other work for it, or of a requested
 * rebuild. */
void search_notify(struct directory *directory, const struct project *project);
/* any: publishes the project's number on LIVE_CHANNEL. Gateways with live listeners of the project
 * then read the new rows of its log of changes. */
void live_notify(struct directory *directory, const struct project *project);
#define LIVE_CHANNEL "groundwork:live"
