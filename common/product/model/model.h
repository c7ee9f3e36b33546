#pragma once
/*
 * The data model of one project as an immutable snapshot: entities, fields, enums, listeners. Read
 * once per version of the model, shared by all requests, and freed with the last reference. Code
 * that borrows from a model must hold a reference (project_hold() gives requests theirs).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/result.h"
#include "base/str.h"
#include "catalog/event.h"
#include "catalog/model_type.h"
#include "db/db.h"

struct json_t;

enum model_on_delete { ON_DELETE_RESTRICT, ON_DELETE_SET_NULL, ON_DELETE_CASCADE };
/* Consumers of the outbox: bits of outbox.pending. */
enum event_consumer { CONSUMER_WORKFLOWS = 1, CONSUMER_SEARCH = 2 };

struct model_enum {
    struct str name;
    const struct str *values;
    size_t count;
};

struct entity;
struct model_field {
    int64_t id;
    struct str name;
    enum model_type type;
    bool required, unique, indexed, searchable, is_public;
    bool system;  /* id, created_at, updated_at or created_by: set by the service */
    bool is_many; /* relation with a link table l_<id> (from_id, to_id, position) */
    const struct json_t *default_value; /* default value, NULL = none */
    int64_t max_length;                 /* of texts, in characters; 0 = no limit */
#define SEARCH_OPTION(member, ...) int64_t member;
#include "model/search_option.def"
    bool has_min, has_max;
    double min, max;
    struct str min_text, max_text;   /* exact digits of min and max */
    const struct model_enum *values; /* TYPE_ENUM */
    const struct entity *target;     /* TYPE_RELATION */
    enum model_on_delete on_delete;
    struct str column;  /* "f_<id>", or the system column's name */
    struct str example; /* JSON text for documents */
    const struct entity *entity;
    const struct json_t *options;            /* as stored in the database */
    const struct model_field *next_referrer; /* next field in the list target->referrers */
    int64_t created_ms, updated_ms;
};

struct entity {
    int64_t id;
    struct str name, label;
    bool row_level_security, public_read, searchable;
    bool has_grants;         /* some rows may have grants, so the row rule must check them */
    bool has_index;          /* has a search index of its own: some field is in it */
    bool display_indexed;    /* a searched relation refers to it, which indexes its display field */
    int64_t history_days;    /* days for which former versions of records are kept; 0 = not kept */
    unsigned events;         /* bits of events that have a listener */
    unsigned payload_events; /* bits of events whose payload a listener needs */
    uint8_t consumers[ENTITY_EVENTS]; /* for each event: bits of event_consumer */
    struct model_field
        *fields; /* id, then own fields by position, then created_at, updated_at, created_by */
    size_t field_count;
    struct map *by_name;                 /* field name -> struct model_field */
    struct str table;                    /* "e_<id>" */
    const struct model_field *referrers; /* first relation to this entity, from any entity */
    int64_t created_ms, updated_ms;
};

struct model_index {
    int64_t id;
    const struct entity *entity;
};

struct model {
    int64_t version;
    struct entity *entities; /* by name */
    size_t entity_count;
    bool has_index;      /* some entity is searched */
    bool live;           /* changes of records are logged, because clients listen or did lately */
    bool payload_events; /* some event of records needs its payload */
    bool has_history;    /* some entity keeps history */
    struct map *by_name;
    struct model_index *by_id; /* sorted */
    struct model_enum *enums;  /* by name */
    size_t enum_count;
    struct map *statements; /* caches of records/: key -> arena-owned object */
    struct arena *arena;    /* owns all of it, and long-lived additions of caches */
    int refs;
};

/* co: Reads the model of a project. Returns 0 with one reference in *ret_model, or a DB_*. */
AWAITS int model_load(struct task *task, struct db *db, struct model **ret_model) MUSTCHECK;
/* model_ref() adds a reference, model_unref() drops one; NULL is allowed for model_unref(). Loop
 * thread only. */
struct model *model_ref(struct model *model);
void model_unref(struct model *model);
/* any: Passes a reference to the arena, which drops it when it is reset or freed. */
void model_attach(struct arena *arena, struct model *model);

/* any: Find an entity by name or id. Borrowed from the model; NULL when absent. */
const struct entity *model_entity(const struct model *model, struct str name);
const struct entity *model_entity_by_id(const struct model *model, int64_t id);
/* any: Returns the consumers of an event of the entity: bits of event_consumer. */
unsigned entity_consumers(const struct entity *entity, enum event_kind event);
/* any: Returns whether the search index is the only consumer of the event. The search index reads
 * the record itself and needs no payload. */
bool entity_has_only_search(const struct entity *entity, enum event_kind event);
/* any: Returns the field that represents a record where another record refers to it: the first
 * searchable text, else the first text; NULL when the entity has no text. */
const struct model_field *entity_display(const struct entity *entity);
/* any: Returns whether the field is in the search index of its entity: it is searchable and of a
 * type that can be searched. */
bool field_is_searched(const struct model_field *field);
/* any: Find a field by name or id, or an enum by name. Borrowed; NULL when absent. */
const struct model_field *entity_field(const struct entity *entity, struct str name);
const struct model_field *entity_field_by_id(const struct entity *entity, int64_t id);
const struct model_enum *model_enum_find(const struct model *model, struct str name);
/* any: Names of on_delete rules, static texts; model_on_delete_find() returns -1 for an unknown
 * name. */
const char *model_on_delete_name(enum model_on_delete on_delete);
int model_on_delete_find(struct str name);
/* any: Returns whether the name may be given to an entity, field or enum: [a-z][a-z0-9_]{0,47}, not
 * svc_*, not a system column. */
bool model_name_ok(struct str name);
