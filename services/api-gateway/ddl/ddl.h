#pragma once
/*
 * DDL commands for the tables of entities: one command a query, one subcommand an ALTER. Tables and
 * columns are named by ids only. User input never becomes text of a command: default values are
 * written as hexadecimal.
 *
 * A struct model_field describes a field as it is now or as it will be after the change.
 */
#include "app.h"

/* Commands in the order in which they run; arena-owned. */
struct ddl {
    struct arena *arena;
    struct sql *items;
    size_t count, cap;
};

/* any: Starts an empty list; `arena` is borrowed and owns the commands. */
void ddl_init(struct ddl *ddl, struct arena *arena);
/* any: Appends one command. */
void ddl_add(struct ddl *ddl, const char *format, ...) PRINTF_LIKE(2, 3);
/* co: Runs the commands in the transaction r->scope->db. Returns 0 or the status of the answer: 409
 * if a table has no room for more columns. Sends nothing during a preview (ddl_preview.h). */
AWAITS int ddl_run(struct req *r, const struct ddl *ddl) MUSTCHECK;

/* --- tables (ddl_table.c) --- */

/* any: Creates the entity's table with the columns, constraints, indexes and link tables of its
 * fields. */
void ddl_table_create(struct ddl *ddl, const struct entity *entity);
/* any: Drops the entity's history, its link tables, then its table. */
void ddl_table_drop(struct ddl *ddl, const struct entity *entity);
/* any: Locks the field's table before a change reads the rows, in the mode that the change needs:
 * raising the lock later could deadlock. The same command locks the target of a relation. */
void ddl_table_lock(struct ddl *ddl, const struct model_field *field);

/* --- history of records (ddl_history.c) --- */

/* any: ddl_history_start() starts the history of an entity, whose rows in `entities` and `fields`
 * have to be stored before. ddl_history_end() ends the history and deletes what was recorded. */
void ddl_history_start(struct ddl *ddl, const struct entity *entity);
void ddl_history_end(struct ddl *ddl, const struct entity *entity);
/* any: Adapts the history to a change of the entity's history_days or fields, after the changed
 * rows are stored. Does nothing if the entity has no history. */
void ddl_history_update(struct ddl *ddl, const struct entity *entity);
/* any: Removes the field from the history, before the field is dropped. */
void ddl_history_drop_field(struct ddl *ddl, const struct model_field *field);

/* --- columns (ddl_column.c) --- */

/* any: Returns a column definition for CREATE TABLE or ADD COLUMN ("f_31 text default ... not
 * null"); arena-owned. */
struct str ddl_column(struct arena *arena, const struct model_field *field);
/* The index of a field's column. */
enum ddl_index { INDEX_NONE, INDEX_PLAIN, INDEX_UNIQUE };
/* any: Returns which index the field has. */
enum ddl_index ddl_index_of(const struct model_field *field);
/* any: Add and drop a field's column or link table, with its constraints and index. */
void ddl_field_add(struct ddl *ddl, const struct model_field *field);
void ddl_field_drop(struct ddl *ddl, const struct model_field *field);
/* any: Adds the CHECK, the foreign key and the index of the column, or creates the link table. */
void ddl_field_add_constraints(struct ddl *ddl, const struct model_field *field);
/* co: Changes the field from `old` to `next` (same id). Checks the rows first: returns 409 if rows
 * contradict the change, 403 if the caller may not learn whether rows contradict the change. */
AWAITS int ddl_field_change(struct req *r,
                            const struct model_field *old,
                            const struct model_field *next) MUSTCHECK;

/* --- conversion of types (ddl_convert.c) --- */

struct ddl_conversion {
    /* Each "%s" in the texts is replaced by the column. */
    const char *using;  /* the converted value */
    const char *refuse; /* true for values that do not convert; NULL = all values convert */
};
/* any: Finds the conversion between two types; its texts are static. Returns false if the types do
 * not convert. */
bool ddl_conversion_find(enum model_type from,
                         enum model_type to,
                         struct ddl_conversion *ret_conversion);
/* any: Replaces each "%s" of the pattern by the column; arena-owned. */
const char *ddl_conversion_text(struct arena *arena, const char *pattern, struct str column);

/* --- checks of the stored rows (ddl_check.c) --- */

/* any: Returns whether the caller reads all records of the entity, so that an answer may mention
 * any record. */
bool ddl_caller_sees_all(const struct req *r, const struct entity *entity);
/* any: Returns 0 if the caller reads all records and the field, else 403. Call before the values
 * are checked: whether a change fits the stored values reveals what the values are. */
int ddl_may_read_values(struct req *r, const struct model_field *field) MUSTCHECK;
/* any: Returns 0 if the caller may delete records of the entity, else 403. `what` names the change
 * that deletes data; it begins the message. */
int ddl_may_drop(struct req *r, const struct entity *entity, const char *what) MUSTCHECK;
/* co: Returns 0 if the entity has no records, otherwise the result of ddl_may_drop(). */
AWAITS int ddl_may_lose_records(struct req *r, const struct entity *entity, const char *what)
    MUSTCHECK;
/* co: In a transaction: locks the table, so that no record can be added until the transaction ends,
 * then returns the result of ddl_may_lose_records(). */
AWAITS int ddl_may_drop_records(struct req *r, const struct entity *entity, const char *what)
    MUSTCHECK;

/* A condition that the stored rows must not fulfil. */
struct ddl_check {
    const struct model_field *field;
    const char *condition; /* SQL on "t", the entity's table: true for rows that contradict */
    const struct db_param *params;
    size_t param_count;
    enum problem code;  /* of the error */
    const char *reason; /* part of the message, before the field: "no value in" */
};
/* co: Returns 0 if no row contradicts, else 409 schema_conflict; the message has the number and up
 * to ten ids of the rows if the caller sees all records. During a preview the finding is added to
 * r->scope->preview, and the result is 0. */
AWAITS int ddl_check_rows(struct req *r, const struct ddl_check *check) MUSTCHECK;
