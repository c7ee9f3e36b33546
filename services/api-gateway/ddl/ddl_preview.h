#pragma once
/*
 * What a change of tables would meet and cost, gathered instead of done. The change runs its own
 * checks, so that what refuses it refuses the look as well; while r->scope->preview is set, what
 * stored records say against it is kept, tables are not locked and commands are not sent.
 *
 * Rows are counted by plain reads, each a heavy read of its own. A change that is made and taken
 * back would say no more, and would hold up everyone who uses the table until then.
 */
#include "ddl/ddl.h"

#define DDL_COUNTED "1000000" /* rows, at most */

struct ddl_violation {
    struct str field;
    enum problem code;
    struct str message;
    struct opt_i64 rows; /* these two only for who sees all records */
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
    size_t violation_count, violation_room;
    struct ddl_index_change *indexes;
    size_t index_count, index_room;
    bool loses;                   /* data, if there is any */
    struct opt_i64 rewrites_rows; /* not set: the caller may not know */
    struct opt_i64 loses_rows;
};
void ddl_preview_init(struct ddl_preview *preview, struct arena *arena);

/* any: keeps one. */
void ddl_preview_violation(struct ddl_preview *preview, const struct ddl_violation *violation);
/* any: whether one of that code was kept; NULL has none. */
bool ddl_preview_found(const struct ddl_preview *preview, enum problem code);
/* any: what becomes of the indexes of a field; old NULL: it is new, next NULL: it goes. */
void ddl_preview_indexes(struct ddl_preview *preview,
                         const struct model_field *old,
                         const struct model_field *next);
/* co: how many records are rewritten when the field changes its type. */
AWAITS int ddl_preview_rewrite(struct req *r,
                               const struct model_field *old,
                               const struct model_field *next) MUSTCHECK;
/* co: how many records the past is known of, which is forgotten. */
AWAITS int ddl_preview_forget(struct req *r, const struct entity *entity) MUSTCHECK;
/* co: how many records lose something: a value of the field, or with NULL themselves. */
AWAITS int ddl_preview_loss(struct req *r,
                            const struct entity *entity,
                            const struct model_field *field) MUSTCHECK;
