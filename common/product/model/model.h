#pragma once
/*
 * The data model of one project as an immutable snapshot: entities, fields, enums, listeners. Read
 * once per model version, shared by all requests, freed when the last one lets go. Whoever borrows
 * from it holds a reference (project_hold() gives requests theirs).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/result.h"
#include "base/str.h"
#include "catalog/event.h"
#include "db/db.h"

struct json_t;

enum model_type {
    TYPE_VARCHAR,
    TYPE_TEXT,
    TYPE_INTEGER,
    TYPE_FLOAT,
    TYPE_DECIMAL,
    TYPE_BOOL,
    TYPE_DATE,
    TYPE_DATETIME,
    TYPE_JSON,
    TYPE_ENUM,
    TYPE_FILE,
    TYPE_RELATION,
    TYPE_SECRET,
    TYPE_COUNT,
};
enum model_on_delete { ON_DELETE_RESTRICT, ON_DELETE_SET_NULL, ON_DELETE_CASCADE };
/* Who takes events out of the outbox: bits of outbox.pending. */
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
    bool system; /* id, created_at, updated_at, created_by: set by the service */
    bool many;   /* relation through the link table l_<id> (from_id, to_id, position) */
    const struct json_t *fallback; /* default value, NULL = none */
    int64_t max_length;            /* texts, characters; 0 = none */
    int64_t search_weight;         /* what search finds in it comes before lighter fields */
    bool has_min, has_max;
    double min, max;
    struct str min_text, max_text;   /* the same to the last digit */
    const struct model_enum *values; /* TYPE_ENUM */
    const struct entity *target;     /* TYPE_RELATION */
    enum model_on_delete on_delete;
    struct str column;  /* "f_<id>", or the system column's name */
    struct str example; /* JSON text for documents */
    const struct entity *entity;
    const struct json_t *options;            /* as stored */
    const struct model_field *next_referrer; /* the next relation to the same target */
    int64_t created_ms, updated_ms;
};

struct entity {
    int64_t id;
    struct str name, label;
    bool row_level_security, public_read, searchable;
    bool granted;         /* rows were granted to somebody: the row rule has to look */
    bool searched;        /* it has an index of its own: some field is in it */
    bool shown;           /* the index of another one, or its own, has its display field */
    int64_t history_days; /* that it keeps what its records were; 0 = it does not */
    unsigned events;      /* bits of those that somebody listens to */
    unsigned told;        /* of those the ones whose payload somebody wants */
    uint8_t consumers[ENTITY_EVENTS]; /* of each: bits of event_consumer */
    struct model_field
        *fields; /* id first, then by position, then created_at, updated_at, created_by */
    size_t field_count;
    struct map *by_name;                 /* field name -> struct model_field */
    struct str table;                    /* "e_<id>" */
    const struct model_field *referrers; /* relations to it, of any entity: the first of a chain */
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
    bool searched; /* some entity is */
    bool live;     /* changes of records are logged: somebody listens, or did lately */
    bool told;     /* somebody wants payloads of some events of records */
    bool history;  /* some entity keeps one */
    struct map *by_name;
    struct model_index *by_id; /* sorted */
    struct model_enum *enums;  /* by name */
    size_t enum_count;
    struct map *statements; /* caches of records/: key -> arena-owned object */
    struct arena *arena;    /* all of it; long-lived additions by caches go here */
    int refs;
};

/* co: reads the model of a project. 0 with one reference, or a DB_*. */
AWAITS int model_load(struct task *task, struct db *db, struct model **ret_model) MUSTCHECK;
struct model *model_ref(struct model *model);
void model_unref(struct model *model);
/* any: the reference goes with the arena. */
void model_adopt(struct arena *arena, struct model *model);

/* any: borrowed, NULL when absent. */
const struct entity *model_entity(const struct model *model, struct str name);
const struct entity *model_entity_by_id(const struct model *model, int64_t id);
/* any: who listens to the event of the entity: bits of event_consumer. */
unsigned entity_consumers(const struct entity *entity, enum event_kind event);
/* any: nobody but the search index does: it reads the record itself and wants no payload. */
bool entity_only_searched(const struct entity *entity, enum event_kind event);
/* any: what stands for a record where another one refers to it: the first searchable text of the
 * entity, or else its first text; NULL = it has none. */
const struct model_field *entity_display(const struct entity *entity);
/* any: the field is in its entity's index: it is searchable and of a type that has words. */
bool field_searched(const struct model_field *field);
const struct model_field *entity_field(const struct entity *entity, struct str name);
const struct model_field *entity_field_by_id(const struct entity *entity, int64_t id);
const struct model_enum *model_enum_find(const struct model *model, struct str name);
const char *model_type_name(enum model_type type);
int model_type_find(struct str name); /* -1 when unknown */
const char *model_on_delete_name(enum model_on_delete on_delete);
int model_on_delete_find(struct str name);
/* "name" as entity, field or enum names must be: [a-z][a-z0-9_]{0,47}, not svc_*, not a system
 * column. */
bool model_name_ok(struct str name);
