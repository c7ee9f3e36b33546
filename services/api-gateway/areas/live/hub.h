#pragma once
/*
 * A hub holds the listeners of one project in this process. One coroutine at a time reads the
 * project's log of changes for all of them, in rounds. A round begins when a Redis message (the
 * doorbell) announces a change, and once a second in any case. A hub exists while it has listeners.
 *
 * Listeners at the same position form a group. One group, hub->current, is up to date. Listeners
 * that reconnect with an older position form groups in hub->late_groups, which are read forward
 * until their listeners join hub->current. Loop thread only.
 */
#include "app.h"
#include "http/feed.h"
#include "records/changes.h"

struct hub;

/* A filter of one listener, or of several listeners with the same filter and the same view of the
 * entity (reference counted). */
struct hub_test {
    unsigned refs;
    struct hub *hub;
    struct arena *arena; /* holds this struct, too */
    struct str key;
    int64_t entity_id;
    struct caller caller; /* whose rules apply to the filter; owns a reference of the rights */
    struct records_filter filter;
    bool is_personal; /* the filter follows relations: all rights of the caller matter */
    size_t index;     /* index among the tests of the current statement; SIZE_MAX = not in it */
};

/* A fingerprint of what a listener is shown. `visible`: the records and fields that the listener's
 * rights allow. `shape`: the form that the model gives the records. */
struct hub_fingerprint {
    uint32_t visible, shape;
};
#define HUB_HEAD_BYTES 24 /* bytes of "id: ", a fingerprint as text, "." */

/* An entity that a listener follows. */
struct hub_watch {
    int64_t entity_id;
    struct hub_test *test; /* NULL = every record */
};

/* Selects entries of the audit log; 0 and empty texts match all entries. */
struct hub_audit {
    int64_t actor;
    struct str kind, action, target, target_id;
};

struct hub_subscriber {
    struct http_feed feed;
    struct list link; /* in a group, or in hub->new_listeners */
    struct hub *hub;
    struct caller caller; /* owns a reference of the rights */
    struct share *share;
    int64_t group_members_hash; /* fingerprint of the members of the group in X-Group-Id; 0 = no
                                   group */
    int64_t rights_source;      /* fingerprint of the rows that caller.rights was computed from; 0 =
                                   unknown */
    struct hub_fingerprint fingerprint;
    char head[HUB_HEAD_BYTES]; /* prefix of every position that the feed sends */
    unsigned work;             /* bits of enum hub_work that the listener follows */
    struct hub_audit audit;
    struct arena *arena; /* of the texts of `audit`; NULL = none */
    bool is_gone;
    bool is_new;                /* joined hub->current; no hello was sent yet */
    bool position_is_malformed; /* sent a malformed position: the stream begins with a reset */
    size_t watch_count;
    struct hub_watch watches[];
};

/* Kinds of events other than changes of records: long work, and entries of the audit log. */
enum hub_work { HUB_JOBS, HUB_TASKS, HUB_SENDS, HUB_INDEXES, HUB_AUDIT, HUB_WORKS };
extern const char *const hub_work_names[HUB_WORKS + 1]; /* "jobs", ...; NULL-terminated */
/* any: Returns whether the caller may follow this kind at all. */
bool hub_work_is_allowed(const struct caller *caller, enum hub_work work);
/* any: Returns the detail of the 403 for callers that may not follow this kind. Static. */
const char *hub_work_refusal(enum hub_work work);

/* Options of a new listener. Everything is borrowed; hub_subscribe() copies what it needs. */
struct hub_options {
    const struct entity *const *entities;
    size_t count;
    const struct records_filter *filter; /* applies to each entity */
    unsigned work;                       /* bits of enum hub_work */
    struct hub_audit audit;
    struct str position;       /* of the last event that the client has; STR_NONE = begin now */
    struct str begin_position; /* from hub_begin_logging() */
    int64_t members;           /* from hub_group_members_hash() */
};

/* co: Computes a fingerprint of the members of the group that the request names in X-Group-Id; 0
 * when the request names no group. Returns 0, a negative, or the status put. */
AWAITS int hub_group_members_hash(struct req *r, int64_t *ret_members) MUSTCHECK;
/* any: Acquires a slot for one more listener of the request's project. Returns NULL when no slot is
 * free. hub_subscribe() takes the slot over. */
struct share *hub_acquire_slot(struct req *r);
/* co: Makes sure that every change is logged from now on, so that the stream contains it. Call it
 * before hub_subscribe(), and await nothing in between. For a project without recent listeners the
 * call takes a second and a half. *ret_begin: the position where the project's first stream begins;
 * STR_NONE when the project already has a hub. Returns 0, a negative, or the status put. */
AWAITS int hub_begin_logging(struct req *r, struct str *ret_begin) MUSTCHECK;
/* any: Turns the response into a feed of the project's changes. Takes `share` over. A handler calls
 * it last and returns its result. */
int hub_subscribe(struct req *r, const struct hub_options *options, struct share *share);

/* --- between the files of hubs --- */

struct hub_group {
    struct list link; /* in hub->late_groups */
    struct list listeners;
    struct arena *arena; /* of the texts of `position` */
    struct live_position position;
    uint64_t created_round; /* value of hub->rounds when the group was created */
    bool is_reading;        /* a page is being read: no listener may join */
};

/* The rows of one kind of work at the last poll, by ascending id. */
struct hub_work_states {
    struct arena *arena;
    struct hub_work_state {
        int64_t id;
        uint64_t hash;
        bool has_ended;
    } * items;
    size_t count;
    bool is_polled;
};

struct hub {
    struct list link;
    int64_t number;
    struct hub_group current;  /* up to date */
    struct list new_listeners; /* listeners that join `current` in the next round */
    struct list late_groups;   /* not yet up to date */
    struct map *tests;         /* key -> struct hub_test */
    size_t listeners;
    uint64_t rounds;
    unsigned schema_misses; /* consecutive reads in which the model did not fit the tables */
    bool is_running, needs_round;
    bool has_new_listeners; /* `current` has listeners with is_new */
    bool was_busy;          /* this round sent something: the next one waits to collect more */
    int64_t busy_until_ms;  /* earliest start of the next round after a busy one */
    struct loop_timer timer;
    int64_t epoch, model_version; /* at the last check of rights; -1 = none yet */
    int64_t rights_checked_ms;    /* last check of rights */
    int64_t log_renewed_ms;       /* last live_log_keep() */
    int64_t beat_ms;              /* last hub_event_beat() */
    int64_t poll_due_ms;          /* next round without a doorbell */
    struct arena *shapes_arena;   /* of the entities of the model at the last check of rights */
    struct hub_shape {
        int64_t entity_id;
        uint64_t shape;
    } * entity_shapes;
    size_t entity_shape_count;
    struct hub_work_states works[HUB_WORKS];
    int64_t work_due_ms;
};

/* Context of one round. */
struct hub_round {
    struct task *task;
    struct hub *hub;
    struct project *project;
    const struct model *model;
};

/* hub_round.c: co: Runs one round. Returns 0, PROJECT_NOT_FOUND when the project is gone (its
 * listeners have to be dismissed), or an error. After an error the next round continues where this
 * one ended. */
AWAITS int hub_round(struct task *task, struct hub *hub) MUSTCHECK;

/* hub_deliver.c: co: Reads the next page after the group's position, up to the snapshot `upto`
 * (STR_NONE = now), and sends it. *ret_more: there is more to read. Returns 0 or an error; -EAGAIN
 * when rights have changed and have to be checked before the rest is sent. */
AWAITS int
hub_deliver(const struct hub_round *round, struct hub_group *group, struct str upto, bool *ret_more)
    MUSTCHECK;

/* hub_audit.c: co: Sends the audit log entries of a page, from the group's position to the snapshot
 * `upto`, to the listeners that follow the audit log. Moves the group after the entries. *ret_more:
 * there are more entries. */
AWAITS int hub_audit_deliver(const struct hub_round *round,
                             struct hub_group *group,
                             struct str upto,
                             bool *ret_more) MUSTCHECK;

/* hub_work.c: co: hub_work_poll() polls long work when that is due and sends the rows that have
 * changed. hub_work_clear() frees the results of the last poll. */
AWAITS int hub_work_poll(const struct hub_round *round) MUSTCHECK;
void hub_work_clear(struct hub *hub);

/* hub_rights.c: co: Checks what each listener may still follow. Runs after the project's epoch or
 * model has changed, and at intervals. */
AWAITS int hub_check_rights(const struct hub_round *round) MUSTCHECK;

/* hub_fingerprint.c: any: Computes the fingerprint and the head of a listener, at its beginning and
 * after a change of its rights or of the model. */
void hub_fingerprint_update(struct hub_subscriber *listener, const struct model *model);
/* any: Cuts the fingerprint off the beginning of a position's text. Returns false, and leaves the
 * text unchanged, when there is none. */
bool hub_fingerprint_cut(struct str *text, struct hub_fingerprint *ret_print);
/* any: Returns a hash that is equal while the entity's records have the same form. */
uint64_t hub_entity_shape(const struct entity *entity);
/* any: Returns a hash that is equal while the listener may see the same records and fields of the
 * entity. */
uint64_t hub_entity_visibility(const struct hub_subscriber *listener, const struct entity *entity);

/* hub_group.c: any: hub_group_move() sets the group's position to a copy of `position`.
 * hub_group_new() adds an empty group to hub->late_groups, and hub_group_free() removes a group. */
void hub_group_move(struct hub_group *group, const struct live_position *position);
struct hub_group *hub_group_new(struct hub *hub);
void hub_group_free(struct hub_group *group);
/* co: Sends a chunk to all listeners of the group, within a round. Takes over the reference to the
 * chunk. */
AWAITS void hub_group_send(struct task *task, struct hub_group *group, struct http_chunk *chunk);

/* hub_filter.c: any: Finds or creates the test of `filter` for the caller. Returns one reference,
 * or NULL when the filter has no conditions. */
struct hub_test *hub_test_get(struct hub *hub,
                              const struct caller *caller,
                              const struct entity *entity,
                              const struct records_filter *filter);
/* any: Drops a reference; accepts NULL. */
void hub_test_unref(struct hub_test *test);

/* hub_event.c: any: These functions write the events of a feed. Each returns one reference. */
struct http_chunk *hub_event_hello(struct arena *arena, struct str position);
struct http_chunk *hub_event_beat(struct arena *arena, struct str position);
/* `entity` NULL = everything that the listener follows. */
struct http_chunk *hub_event_reset(struct arena *arena,
                                   struct str position,
                                   const struct entity *entity,
                                   const char *reason);
struct http_chunk *hub_event_closed(struct arena *arena, struct str entity, const char *code);
struct http_chunk *hub_event_end(struct arena *arena, const char *code);
/* any: Writes a change as the caller may see it. `event` is "created", "updated" or "deleted". A
 * record that is too large becomes a reset of its entity. */
struct http_chunk *hub_event_change(struct arena *arena,
                                    struct str position,
                                    const char *event,
                                    const struct changes *changes,
                                    size_t row,
                                    const struct caller *caller);
struct http_chunk *hub_event_audit(struct arena *arena, struct str position, struct str entry);
/* any: Sends a chunk to one listener and takes over the reference to the chunk. */
void hub_send(struct hub_subscriber *listener, struct http_chunk *chunk);
/* any: Sends an end event with `code` and closes the listener's feed. */
void hub_dismiss(struct hub_subscriber *listener, struct arena *arena, const char *code);
