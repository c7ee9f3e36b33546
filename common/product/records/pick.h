#pragma once
/*
 * Records that somebody else has found: search proposes ids, the entity's table decides under row
 * rule, field rule and filter which of them the caller is given, and what they hold. Results as
 * those of records.h.
 */
#include "db/rows.h"
#include "records/records.h"

struct columns;

/* any: whether the context's caller reads the entity at all, and the field of it. */
bool records_reads(const struct records_ctx *ctx, const struct entity *entity);
bool records_reads_field(const struct records_ctx *ctx, const struct model_field *field);
/* any: a row rule applies to the caller there: some records it may not see. */
bool records_ruled(const struct records_ctx *ctx, const struct entity *entity);

/* A text besides the record's own members: of a field, or of a field of the record that a to-one
 * relation leads to, null where the caller may not see that one. */
struct records_text {
    const struct model_field *field;
    const struct model_field *shown; /* of field->target; NULL = the field itself */
};

struct records_pick {
    const int64_t *ids; /* NULL: all records, newest first */
    size_t count;
    const int64_t *without; /* these not; with ids NULL only */
    size_t without_count;
    int64_t above;                   /* and no id that is not above this one; with ids NULL only */
    const struct records_text *seen; /* those alone whose related record is there for the caller */
    const struct records_query *query; /* filter, fields, expand, sort, order */
    const struct records_text *texts;
    size_t text_count;
    size_t whole; /* with most above 0: behind the first so many ids those alone that have one of
                     `texts`, none of a related record, of one word and in at most `most` bytes,
                     `ascii` where it is all ASCII */
    int64_t most, ascii;
    int64_t offset, limit;
};

struct records_picked {
    const struct columns *plan;
    struct rows rows;
    size_t count;        /* at most `limit` */
    const size_t *texts; /* where each of pick->texts stands */
    bool more;           /* there is another one behind them */
};

/* co: the records themselves. By ids they come in any order unless query->sort says one, and
 * `limit` is no less than their count: an order of places would cost a third of the statement. */
AWAITS int records_pick(struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct records_pick *pick,
                        struct records_picked *ret_picked) MUSTCHECK;
int64_t records_picked_id(const struct records_picked *picked, size_t row);
/* Borrowed; STR_NONE for null. */
struct str records_picked_text(const struct records_picked *picked, size_t row, size_t text);
/* co: as a list writes one. */
AWAITS int records_picked_json(struct records_ctx *ctx,
                               const struct records_picked *picked,
                               size_t row,
                               struct jw *w) MUSTCHECK;

/* co: which of the ids there are for the caller, in their order; arena-owned. */
AWAITS int records_pick_ids(struct records_ctx *ctx,
                            const struct entity *entity,
                            const struct records_pick *pick,
                            int64_t **ret_ids,
                            size_t *ret_count) MUSTCHECK;
/* co: bytes of pick->texts of each of pick->ids, in their order; 0 of one that is not there for the
 * caller. No text is read for it. */
AWAITS int records_pick_sizes(struct records_ctx *ctx,
                              const struct entity *entity,
                              const struct records_pick *pick,
                              int64_t *ret_bytes) MUSTCHECK;
/* co: how many of pick->ids, or of all records, there are for the caller. */
AWAITS int records_pick_count(struct records_ctx *ctx,
                              const struct entity *entity,
                              const struct records_pick *pick,
                              int64_t *ret_total) MUSTCHECK;
/* co: values of a field among pick->ids, or among all, commonest first, pick->limit at most: rows
 * of value and count. `name` is what asked for it; refused when the field has no single value, or
 * there is none that the caller may read. */
AWAITS int records_pick_values(struct records_ctx *ctx,
                               const struct entity *entity,
                               const struct records_pick *pick,
                               const struct model_field *field,
                               struct rows *ret_rows) MUSTCHECK;
/* any: a value of such a row as lists write it. */
void records_value_json(struct jw *w,
                        const struct model_field *field,
                        const struct rows *rows,
                        size_t row,
                        size_t column);
