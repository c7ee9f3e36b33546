#pragma once
/*
 * Reads records that another component has found. Search proposes ids; the entity's table decides
 * under row rule, field rule and filter which of these records the caller gets, and provides their
 * values. Results as in records.h.
 */
#include "db/rows.h"
#include "records/records.h"

struct columns;

/* any: whether the context's caller may read records of the entity at all; whether the caller may
 * read the field. */
bool records_can_read(const struct records_ctx *ctx, const struct entity *entity);
bool records_can_read_field(const struct records_ctx *ctx, const struct model_field *field);
/* any: whether a row rule applies, so that the caller may not see some records. */
bool records_has_row_rule(const struct records_ctx *ctx, const struct entity *entity);

/* A text that is read in addition to the record's own members: a field, or a field of the record to
 * which a to-one relation refers. Null if the caller may not see the related record. */
struct records_text {
    const struct model_field *field;
    const struct model_field *shown; /* a field of field->target; NULL = the field itself */
};

struct records_pick {
    const int64_t *ids; /* NULL: all records, newest first */
    size_t count;
    const int64_t *excluded_ids; /* leave these ids out; only if ids is NULL */
    size_t excluded_count;
    int64_t above_id; /* only greater ids; only if ids is NULL; 0 = all */
    const struct records_text
        *visible_relation; /* only records whose related record is visible; NULL = all */
    const struct records_query *query; /* filter, fields, expand, sort, order */
    const struct records_text *texts;
    size_t text_count;
    size_t unrestricted_count; /* first ids that most_bytes and most_ascii_bytes do not restrict */
    /* If most_bytes > 0, an id after the first unrestricted_count ids is only read if one of
     * `texts` is a single word of at most most_bytes bytes, or at most most_ascii_bytes if all its
     * bytes are ASCII. None of `texts` may then be a text of a related record. */
    int64_t most_bytes, most_ascii_bytes;
    int64_t offset, limit;
};

struct records_picked {
    const struct columns *plan;
    struct rows rows;
    size_t count;        /* at most pick->limit */
    const size_t *texts; /* column of each of pick->texts */
    bool has_more;       /* there are more records than `limit` */
};

/* co: reads records. If pick->ids is set and query->sort is not, the rows come in any order,
 * because the order of the ids would cost a third of the statement; `limit` must then be at least
 * the number of ids. */
AWAITS int records_pick(struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct records_pick *pick,
                        struct records_picked *ret_picked) MUSTCHECK;
/* any: the id of a row, and one of pick->texts of a row: borrowed, STR_NONE for null. */
int64_t records_picked_id(const struct records_picked *picked, size_t row);
struct str records_picked_text(const struct records_picked *picked, size_t row, size_t text);
/* co: writes a row's record in the format of lists of records. */
AWAITS int records_picked_json(struct records_ctx *ctx,
                               const struct records_picked *picked,
                               size_t row,
                               struct jw *w) MUSTCHECK;

/* co: the ids of the records that the caller may see, in the order of pick->ids; arena-owned. */
AWAITS int records_pick_ids(struct records_ctx *ctx,
                            const struct entity *entity,
                            const struct records_pick *pick,
                            int64_t **ret_ids,
                            size_t *ret_count) MUSTCHECK;
/* co: for each of pick->ids, the size of its pick->texts in bytes; 0 if the caller may not see the
 * record. PostgreSQL sends only the sizes. */
AWAITS int records_pick_sizes(struct records_ctx *ctx,
                              const struct entity *entity,
                              const struct records_pick *pick,
                              int64_t *ret_bytes) MUSTCHECK;
/* co: counts the records among pick->ids, or among all, that the caller may see. */
AWAITS int records_pick_count(struct records_ctx *ctx,
                              const struct entity *entity,
                              const struct records_pick *pick,
                              int64_t *ret_total) MUSTCHECK;
/* co: values of a field with their counts, among pick->ids or among all records, most frequent
 * first, at most pick->limit. Fails if the field has no single value to count. The caller must be
 * allowed to read the field. */
AWAITS int records_pick_values(struct records_ctx *ctx,
                               const struct entity *entity,
                               const struct records_pick *pick,
                               const struct model_field *field,
                               struct rows *ret_rows) MUSTCHECK;
/* any: writes a value of a row of records_pick_values() in the format of lists of records. */
void records_value_json(struct jw *w,
                        const struct model_field *field,
                        const struct rows *rows,
                        size_t row,
                        size_t column);
