#pragma once
/*
 * Preview of a change of tables: collects conflicts and costs without making the change. The change
 * runs its own checks, so an error that refuses the change refuses the preview too. While
 * r->scope->preview is set, conflicts with stored records are collected in it, tables are not
 * locked and commands are not sent.
 *
 * Rows are counted by plain reads, each of which is a heavy read. Making the change and rolling it
 * back would find out no more, but would block all users of the table until the rollback.
 */
#include "ddl/ddl.h"

#define DDL_COUNTED "1000000" /* maximum number of rows that are counted */

/* A conflict of the change with stored records or with the definition of a field. */
struct ddl_violation {
    struct str entity, field;
    enum problem code;
    struct str message;
    struct opt_i64 rows; /* 0: with the definition; not set, like ids, if the caller does not see
                            all records */
    struct sql_i64s ids; /* the first ten */
};
struct ddl_index_change {
    struct str field;
    const char *kind;   /* index, unique, search */
    const char *change; /* created, dropped, rebuilt */
};
struct ddl_preview {
    struct arena *arena;
    struct ddl_violation *violations;
    size_t violation_count, violation_cap;
    struct ddl_index_change *indexes;
    size_t index_count, index_cap;
    const struct model_field **fields; /* take their values from the changed enum */
    size_t field_count, field_cap;
    bool loses_data;              /* the change deletes data, if there is any */
    struct opt_i64 rewrites_rows; /* not set: the caller may not know the number */
    struct opt_i64 loses_rows;
};
/* any: Starts an empty preview; `arena` is borrowed and owns its lists. */
void ddl_preview_init(struct ddl_preview *preview, struct arena *arena);

/* any: Adds a copy of the violation; its texts and ids are borrowed. */
void ddl_preview_add_violation(struct ddl_preview *preview, const struct ddl_violation *violation);
/* any: Returns whether a violation with this code was added; false for NULL. */
bool ddl_preview_has_violation(const struct ddl_preview *preview, enum problem code);
/* any: Adds how the field's indexes change. `old` NULL: the field is new; `next` NULL: the field is
 * removed. */
void ddl_preview_add_indexes(struct ddl_preview *preview,
                             const struct model_field *old,
                             const struct model_field *next);
/* any: Adds a field that takes its values from the changed enum; the field is borrowed. */
void ddl_preview_add_field(struct ddl_preview *preview, const struct model_field *field);
/* co: Counts the records that are rewritten when the field changes its type, into rewrites_rows. */
AWAITS int ddl_preview_count_rewrites(struct req *r,
                                      const struct model_field *old,
                                      const struct model_field *next) MUSTCHECK;
/* co: Counts the records whose history is deleted, into loses_rows. */
AWAITS int ddl_preview_history_loss(struct req *r, const struct entity *entity) MUSTCHECK;
/* co: Counts the records that lose their value of the field, or that are deleted if `field` is
 * NULL, into loses_rows. */
AWAITS int ddl_preview_count_losses(struct req *r,
                                    const struct entity *entity,
                                    const struct model_field *field) MUSTCHECK;
