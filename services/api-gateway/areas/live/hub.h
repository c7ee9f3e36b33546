#pragma once
/*
 * Hubs: who listens to a project through this process, and the one coroutine at a time that reads
 * the project's log of changes for all of them. A hub is there while it has listeners. Its rounds
 * are begun by the doorbell of whoever has changed something, and once a second in any case.
 *
 * Listeners that have read as far as each other form a group. One group is up to date; those that
 * come back with an older position are brought there, a round each, and join it. Loop thread only.
 */
#include "app.h"
#include "http/feed.h"
#include "records/changes.h"

struct hub;

/* A filter of one listener or of several who are alike, counted. */
struct hub_test {
    unsigned refs;
    struct hub *hub;
    struct arena *arena; /* it lives there itself */
    struct str key;
    int64_t entity_id;
    struct caller caller; /* under whose rules it is made; owns a reference of the rights */
    struct records_filter filter;
    bool personal; /* it leads through relations: where depends on all rights of the caller */
    size_t place;  /* among the tests of the statement that is being read; SIZE_MAX = not there */
};

/* What a listener is shown: which records and fields, and of which form. */
struct hub_print {
    uint32_t sight, shape;
};
#define HUB_HEAD 24 /* "id: ", a print as text, "." */

/* An entity that somebody listens to. */
struct hub_watch {
    int64_t entity_id;
    struct hub_test *test; /* NULL = every record */
};

/* Which entries of the audit log; 0 and empty texts: all. */
struct hub_audit {
    int64_t actor;
    struct str kind, action, target, target_id;
};

struct hub_listener {
    struct http_feed feed;
    struct list link; /* of a group, or of those that wait to begin */
    struct hub *hub;
    struct caller caller; /* owns a reference of the rights */
    struct share *share;
    int64_t members; /* a number of those of the group that it asks for; 0 = it asks for none */
    int64_t made_of; /* a number of what its rights were read from; 0 = not known */
    struct hub_print print;
    char head[HUB_HEAD]; /* of its feed: what its positions begin with */
    unsigned work;       /* bits of enum hub_work that it listens to */
    struct hub_audit audit;
    struct arena *arena; /* of its texts; NULL = there are none */
    bool gone;
    bool is_new; /* joined the group that is up to date; no hello was sent yet */
    bool lost;   /* where it was is not known: it begins with a reset */
    size_t watch_count;
    struct hub_watch watches[];
};

/* What can be listened to beside records: long work, and the audit log. */
enum hub_work { HUB_JOBS, HUB_TASKS, HUB_SENDS, HUB_INDEXES, HUB_AUDIT, HUB_WORKS };
extern const char *const hub_work_names[HUB_WORKS + 1]; /* "jobs", ...; NULL ends them */
/* any: may the caller listen to it at all? */
bool hub_work_may(const struct caller *caller, enum hub_work work);
/* any: a sentence for whoever may not. */
const char *hub_work_needs(enum hub_work work);

/* What a listener asks for; texts are borrowed. */
struct hub_wish {
    const struct entity *const *entities;
    size_t count;
    const struct records_filter *filter; /* of each of them */
    unsigned work;                       /* bits of enum hub_work */
    struct hub_audit audit;
    struct str position; /* to go on behind; STR_NONE = now */
    struct str begin;    /* of hub_begin() */
    int64_t members;     /* of the caller's group scope */
};

/* any: once in each worker. `listeners`: at most, of all projects. */
void hub_start(struct directory *directory, int64_t listeners);
/* any: nothing is sent any more; the feeds end with their server. */
void hub_stop(void);

/* co: a number of the members of the group that the caller asks for; 0 when it asks for none. */
AWAITS int hub_members(struct req *r, int64_t *ret_members) MUSTCHECK;
/* any: a place for one more listener of the request's project; NULL = there is none. */
struct share *hub_place(struct req *r);
/* co: before hub_listen(), and nothing is awaited between: from here on every change is logged, and
 * the stream has it. Where nobody has listened lately, it takes a second and a half. *ret_begin:
 * where the first stream of the project begins; STR_NONE = there are others. 0, a negative, or the
 * status that was put. */
AWAITS int hub_begin(struct req *r, struct str *ret_begin) MUSTCHECK;
/* any: as the last thing that a handler does: the response becomes a feed of the project's
 * changes. Takes the place over. Its result is the handler's. */
int hub_listen(struct req *r, const struct hub_wish *wish, struct share *place);

/* --- between the files of hubs --- */

struct hub_group {
    struct list link; /* hub->groups */
    struct list listeners;
    struct arena *arena; /* of the position's texts */
    struct live_position position;
    uint64_t born; /* in which round */
    bool reading;  /* its page is on the way: nobody joins */
};

/* Rows of one kind of work as they were when they were last looked at, by ascending id. */
struct hub_states {
    struct arena *arena;
    struct hub_state {
        int64_t id;
        uint64_t hash;
        bool ended;
    } * items;
    size_t count;
    bool begun;
};

struct hub {
    struct list link;
    int64_t number;
    struct hub_group now; /* up to date */
    struct list arriving; /* listeners that begin with the next round */
    struct list groups;   /* behind */
    struct map *tests;    /* key -> struct hub_test */
    size_t listeners;
    uint64_t rounds;
    unsigned misread; /* times in a row that the model did not fit the tables */
    bool running, again;
    bool has_new;    /* the group `now` has listeners that are new */
    bool busy;       /* this round has told of something: the next one waits for more */
    int64_t rest_ms; /* until then */
    struct loop_timer timer;
    int64_t epoch, model_version; /* of the last look at rights; -1 = none */
    int64_t looked_ms, listened_ms, told_ms, due_ms;
    struct arena *shapes; /* of the entities that are listened to, as the last model had them */
    struct hub_shape {
        int64_t entity_id;
        uint64_t shape;
    } * shape;
    size_t shape_count;
    struct hub_states works[HUB_WORKS];
    int64_t work_due_ms;
};

/* What a round works with. */
struct hub_round {
    struct task *task;
    struct hub *hub;
    struct project *project;
    const struct model *model;
};

/* hub_round.c: co: one round. 0, PROJECT_NOT_FOUND (the hub has nobody left), or what went wrong:
 * the next round goes on where this one ended. */
AWAITS int hub_round(struct task *task, struct hub *hub) MUSTCHECK;

/* hub_deliver.c: co: reads the next page behind the group's position, of what `upto` has (STR_NONE
 * = now), and sends it. *ret_more: there is more behind it. */
AWAITS int
hub_deliver(const struct hub_round *round, struct hub_group *group, struct str upto, bool *ret_more)
    MUSTCHECK;

/* hub_audit.c: co: sends the entries of the audit log that a page has, from the group's position to
 * `upto`, to those who want them, and moves the group behind them. *ret_more: there are more. */
AWAITS int hub_audit_deliver(const struct hub_round *round,
                             struct hub_group *group,
                             struct str upto,
                             bool *ret_more) MUSTCHECK;

/* hub_work.c: co: tells of long work, when it is time to look. */
AWAITS int hub_work(const struct hub_round *round) MUSTCHECK;
void hub_work_forget(struct hub *hub);

/* hub_rights.c: co: after an epoch moved, and now and then: who may still listen to what. */
AWAITS int hub_look(const struct hub_round *round) MUSTCHECK;

/* hub_print.c: any: what the listener is shown has changed, or is known for the first time. */
void hub_print_renew(struct hub_listener *listener, const struct model *model);
/* any: takes the print off a position's text; false when there is none. */
bool hub_print_take(struct str *text, struct hub_print *ret_print);
/* any: equal while the entity's records have the same form. */
uint64_t hub_shape_of(const struct entity *entity);
/* any: equal while the listener may see the same of the entity. */
uint64_t hub_sight_of(const struct hub_listener *listener, const struct entity *entity);

/* hub_group.c: any: the group's position is this one. */
void hub_group_move(struct hub_group *group, const struct live_position *position);
struct hub_group *hub_group_new(struct hub *hub);
void hub_group_free(struct hub_group *group);
/* any: all of the one are the other's. */
void hub_group_join(struct hub_group *group, struct hub_group *other);
/* co, of a round: a piece for everybody in it; the reference is taken over. */
AWAITS void hub_group_send(struct task *task, struct hub_group *group, struct http_piece *piece);

/* hub_test.c: any: the test that these conditions are for this caller, one reference; NULL without
 * conditions. */
struct hub_test *hub_test_get(struct hub *hub,
                              const struct caller *caller,
                              const struct entity *entity,
                              const struct records_filter *filter);
/* any: accepts NULL. */
void hub_test_unref(struct hub_test *test);

/* hub_event.c: any: what is sent, each with one reference. */
struct http_piece *hub_event_hello(struct arena *arena, struct str position);
struct http_piece *hub_event_beat(struct arena *arena, struct str position);
/* `entity` NULL: of everything that is listened to. */
struct http_piece *hub_event_reset(struct arena *arena,
                                   struct str position,
                                   const struct entity *entity,
                                   const char *reason);
struct http_piece *hub_event_closed(struct arena *arena, struct str entity, const char *code);
struct http_piece *hub_event_end(struct arena *arena, const char *code);
/* any: a change as the caller is told of it: event is "created", "updated" or "deleted". */
struct http_piece *hub_event_change(struct arena *arena,
                                    struct str position,
                                    const char *event,
                                    const struct changes *changes,
                                    size_t row,
                                    const struct caller *caller);
struct http_piece *hub_event_audit(struct arena *arena, struct str position, struct str entry);
/* any: sends to one, taking the reference over. */
void hub_tell(struct hub_listener *listener, struct http_piece *piece);
/* any: the listener's feed ends with that. */
void hub_dismiss(struct hub_listener *listener, struct arena *arena, const char *code);
