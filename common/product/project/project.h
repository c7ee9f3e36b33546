#pragma once
/*
 * Projects and what is cached of them: settings, model, rights, verified tokens. The directory
 * knows the control database and every server; it re-reads the epochs of the projects it serves
 * once a second (a Redis message makes it at once) and drops what an epoch outdates. When the
 * control database cannot be asked for five seconds, project_find() fails closed with
 * PROJECT_UNAVAILABLE.
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

/* PUT {base_url}/ settings; every member documented in project_settings.c, with bounds. */
struct project_settings {
    struct str *allowed_origins;
    size_t allowed_origin_count; /* "*" = any */
    struct str *redirect_urls;
    size_t redirect_url_count;     /* redirect_to of external sign-in */
    int64_t password_min_length;   /* 8 */
    int64_t access_token_seconds;  /* 3600 */
    int64_t refresh_token_seconds; /* 30 days */
    int64_t session_seconds;       /* 90 days, absolute */
    bool sign_up;                  /* external sign-in may create accounts */
    bool link_verified_email;      /* accounts by the issuer's addresses, beyond Google's own */
    bool oidc_trust_email;         /* the issuer's tokens say nothing of email_verified */
    bool require_confirmed_email;
    bool default_row_level_security;                    /* true */
    int64_t rate_read, rate_write, rate_heavy;          /* per principal and minute; 0 = no limit */
    int64_t storage_quota;                              /* bytes of files; 0 = no limit */
    int64_t rate_sign_in_account, rate_sign_in_address; /* 10, 30 a minute */
    struct str oidc_issuer, oidc_client_id,
        oidc_client_secret; /* secret opened; empty = not configured */
    struct str mail_sender;
    struct str auth_page_url; /* what links in mails open */
    struct str timezone;      /* of dates and times that name none; empty = UTC */
    struct str locale;        /* how texts are ordered; empty = the root's order */
    struct str collation;     /* of PostgreSQL for it, or the one in its place; never empty */
};

struct project {
    int64_t number;
    struct str slug, name;
    int partition;
    int64_t epoch;
    struct db db; /* its schema on its server, autocommit */
    struct project_settings settings;
    struct model *model;      /* current snapshot, never NULL for a held project */
    struct aead_key data_key; /* seals: the newest of data_keys */
    struct aead_key
        *data_keys; /* open (unseal.h); of the project alone, replaced when one is added */
    size_t data_key_count;
    int64_t created_ms, updated_ms;
    struct project_cache *cache; /* rights, tokens, origins: private */
    int refs;
};

/* any: reads a time as people write it (clock_read()): in the zone of the project where it names no
 * offset, of a date the first moment there. False: it is neither. NULL has UTC. Loop thread only.
 */
bool project_moment(const struct project *project, struct str text, int64_t *ret_wall_ms);

struct directory_config {
    const char *control_dsn;
    struct db_config db;        /* template for servers; dsn = main server */
    struct redis *redis;        /* may be NULL */
    struct bus *bus;            /* may be NULL: nobody is notified of new outbox rows */
    struct aead_key master_key; /* wraps data keys; ids of master keys are set by the directory */
    const struct aead_key *old_master_keys; /* only unwrap; borrowed for the call */
    size_t old_master_key_count;            /* at most 3 */
    int64_t record_bytes;                   /* largest record as it is stored; 0 = 8 MB */
};

/* Returns owned; one per process, made after the fork: its timer and connections live on the loop.
 */
struct directory *directory_new(const struct directory_config *config);
/* any: ends background work, then closes the servers: a turn or two later when something was
 * running. */
void directory_free(struct directory *directory);
struct db *directory_control(struct directory *directory); /* control schema, autocommit */
struct db_server *directory_server(struct directory *directory,
                                   struct str name); /* NULL = unknown */
/* any: how large a record may be as it is stored. */
int64_t directory_record_bytes(const struct directory *directory);
struct redis *directory_redis(struct directory *directory);
/* any: NULL when there is none (bus_notify() takes that) or the directory is closing. */
struct bus *directory_bus(struct directory *directory);

/* co: the project with a reference held until the task's arena ends (project and its model
 * snapshot). Cached; the slow path reads control row, settings and model. 0, PROJECT_NOT_FOUND,
 * PROJECT_UNAVAILABLE, or a negative. */
AWAITS int project_find(struct task *task,
                        struct directory *directory,
                        struct str slug,
                        struct project **ret_project) MUSTCHECK;

/* co: what project_find() waits for before it looks, so that what comes after it comes at once. Its
 * results. */
AWAITS int project_settle(struct task *task, struct directory *directory) MUSTCHECK;
/* any: is it clear without asking the database whether there is one, or is it being asked already?
 */
bool project_known(const struct directory *directory, struct str slug);

/* co: the same by number, as work that passes between services names projects. */
AWAITS int project_find_number(struct task *task,
                               struct directory *directory,
                               int64_t number,
                               struct project **ret_project) MUSTCHECK;

/* any: project, model snapshot and settings stay valid until the arena ends. */
void project_hold(struct arena *arena, struct project *project);

/* co: rights of a user or key, cached. The reference is held until the arena ends.
 * RIGHTS_GONE or PROJECT_UNAVAILABLE. */
AWAITS int project_rights(struct task *task,
                          struct project *project,
                          int64_t user_id,
                          int64_t key_id,
                          const struct rights **ret_rights) MUSTCHECK;

/* co: raises the epoch after a committed change of model, rights, sessions, settings: this process
 * at once, others within a second. Errors are logged, never returned: the five-second rule covers
 * them. */
AWAITS void project_touch(struct task *task, struct directory *directory, struct project *project);
/* co: reloads the model now (the statement that used it met DB_SCHEMA); held until the arena ends.
 * 0, PROJECT_NOT_FOUND or PROJECT_UNAVAILABLE. */
AWAITS int project_reload_model(struct task *task,
                                struct project *project,
                                const struct model **ret_model) MUSTCHECK;

/* co: reads the epoch now, once for all who ask meanwhile. *ret_changed says whether what was
 * known of the project is outdated; then it has been read again. Before a refusal that another
 * process's change may have made wrong. PROJECT_UNAVAILABLE, or a negative. */
AWAITS int project_recheck(struct task *task, struct project *project, bool *ret_changed) MUSTCHECK;

/* Verified credentials, by hash of the token or key text, dropped with the epoch. */
struct credential {
    int64_t user_id, session_id, key_id;
    int64_t expires_ms; /* wall: the token's exp or the key's end */
    int64_t checked_ms; /* mono, taken before the session or key row was read; older than 5 s = read
                           again */
};
/* any: borrowed until the next await; NULL when unknown or expired. */
const struct credential *project_credential_get(struct project *project, struct str token);
/* any: copies. Ignored when the epoch moved after checked_ms: what was read then may be outdated.
 */
void project_credential_put(struct project *project,
                            struct str token,
                            const struct credential *credential);

/* co: creates everything of a project: control row, schema, tables, roles, signing key,
 * administrator. Restartable by state. PROJECT_EXISTS, or a DB_*. */
struct project_create {
    struct str slug, name, admin_email, admin_password_hash;
};
AWAITS int project_create(struct task *task,
                          struct directory *directory,
                          const struct project_create *in,
                          struct project **ret_project) MUSTCHECK;
/* co: removes it with everything in it (DROP SCHEMA), then the control row. PROJECT_NOT_FOUND, or a
 * DB_*. */
AWAITS int project_delete(struct task *task, struct directory *directory, struct project *project)
    MUSTCHECK;

/* co: finishes deletions that were interrupted. The directory does so itself once a minute. */
AWAITS void directory_sweep(struct task *task, struct directory *directory);

struct directory_stats {
    uint64_t project_hits, project_misses, rights_hits, rights_misses, token_hits, token_misses,
        model_loads, epoch_reads;
    size_t projects;
};
const struct directory_stats *directory_stats(const struct directory *directory);

/* any: the epoch that this process knows of; 0 = the project is not in memory. */
int64_t directory_epoch(const struct directory *directory, int64_t number);

/* any: fire and forget: notifies the consumers that the project has outbox rows. */
void events_notify(struct directory *directory, const struct project *project);
/* any: the same for the search index alone: of outbox rows, of work for it, of a rebuild asked for.
 */
void search_notify(struct directory *directory, const struct project *project);
/* any: the same for gateways whose clients listen: of rows of the log of changes. Its channel. */
void live_notify(struct directory *directory, const struct project *project);
#define LIVE_CHANNEL "groundwork:live"
