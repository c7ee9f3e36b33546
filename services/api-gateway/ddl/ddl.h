#pragma once
/*
 * Commands that shape the tables of entities: one command a query, one subcommand
 * an ALTER, names from ids only. Nothing that a person typed becomes text of a command: names
 * never, and default values travel as hexadecimal.
 *
 * A field is described by struct model_field, as it is or as it is going to be.
 */
#include "app.h"

/* Commands in the order they run; arena-owned. */
struct ddl {
    struct arena *arena;
    struct sql *items;
    size_t count, room;
};

void ddl_init(struct ddl *ddl, struct arena *arena);
/* any: appends one command. */
void ddl_add(struct ddl *ddl, const char *format, ...) PRINTF_LIKE(2, 3);
/* co: runs them on the transaction r->scope->db. A table that has no room for more columns is 409.
 * While a change is only looked at (ddl_preview.h) none of them is sent. */
AWAITS int ddl_run(struct req *r, const struct ddl *ddl) MUSTCHECK;

/* --- tables (ddl_table.c) --- */

/* The entity's table with all its fields' columns, constraints, indexes and link tables. */
void ddl_table_create(struct ddl *ddl, const struct entity *entity);
/* Link tables first, then the table. */
void ddl_table_drop(struct ddl *ddl, const struct entity *entity);
/* Taken before a change looks at the rows, in the strength that the change needs: raising a lock
 * later is how deadlocks are made. The target of a relation is locked in the same command. */
void ddl_table_lock(struct ddl *ddl, const struct model_field *field);

/* --- what records were (ddl_history.c) --- */

/* Begins, and ends with all that is kept; behind the rows of the entity and its fields. */
void ddl_history_on(struct ddl *ddl, const struct entity *entity);
void ddl_history_off(struct ddl *ddl, const struct entity *entity);
/* After a change of the entity's days or fields, behind their rows; nothing where none is kept. */
void ddl_history_follow(struct ddl *ddl, const struct entity *entity);
/* Before a field goes. */
void ddl_history_forget(struct ddl *ddl, const struct model_field *field);

/* --- columns (ddl_column.c) --- */

/* "text", "bigint", ... */
const char *ddl_type(const struct model_field *field);
/* "f_31 text default ... not null", for CREATE TABLE. */
struct str ddl_column(struct arena *arena, const struct model_field *field);
/* What is made for a field beside its column. */
enum ddl_index { INDEX_NONE, INDEX_PLAIN, INDEX_UNIQUE };
enum ddl_index ddl_index_of(const struct model_field *field);
/* Column or link table of a new field, with everything around it. */
void ddl_field_add(struct ddl *ddl, const struct model_field *field);
void ddl_field_drop(struct ddl *ddl, const struct model_field *field);
/* CHECK, foreign key, index: what comes after the column. */
void ddl_field_constrain(struct ddl *ddl, const struct model_field *field);
/* co: from `old` to `next` (same id): looks at the rows first, 409 when they contradict. */
AWAITS int ddl_field_change(struct req *r,
                            const struct model_field *old,
                            const struct model_field *next) MUSTCHECK;

/* --- conversion of types (ddl_convert.c) --- */

struct ddl_conversion {
    enum model_type from, to;
    /* "%s" is the column, everywhere in the text. */
    const char *using;  /* the converted value */
    const char *refuse; /* true for values that do not convert; NULL = all do */
};
/* any: NULL when the types do not convert. */
const struct ddl_conversion *ddl_conversion_find(enum model_type from, enum model_type to);
/* any: replaces each "%s" by the column; arena-owned text. */
const char *ddl_conversion_text(struct arena *arena, const char *pattern, struct str column);

/* --- what the rows say (ddl_check.c) --- */

/* any: the caller reads all records of the entity: it may be told of any of them. */
bool ddl_sees_all(const struct req *r, const struct entity *entity);
/* any: 0 when the caller may learn what the field holds in every record: it reads all records and
 * the field. Else 403, before anything is looked at: whether a change fits the stored values tells
 * what they are. */
int ddl_may_look(struct req *r, const struct model_field *field) MUSTCHECK;
/* any: 0 when the caller may delete records of the entity, else 403: `what` makes data go. */
int ddl_may_drop(struct req *r, const struct entity *entity, const char *what) MUSTCHECK;
/* co: the same, when there are records. */
AWAITS int ddl_may_lose_records(struct req *r, const struct entity *entity, const char *what)
    MUSTCHECK;
/* co: the same in a transaction: no record comes until it ends. */
AWAITS int ddl_may_drop_records(struct req *r, const struct entity *entity, const char *what)
    MUSTCHECK;

struct ddl_check {
    const struct model_field *field;
    const char *condition; /* on "t", the entity's table: true for rows that contradict */
    const struct db_param *params;
    size_t param_count;
    enum problem code;  /* of the finding */
    const char *reason; /* "no value in" */
};
/* co: 0 when no row contradicts, else 409 schema_conflict with the count and up to ten ids. While
 * the change is only looked at that is kept, and 0. */
AWAITS int ddl_check(struct req *r, const struct ddl_check *check) MUSTCHECK;
