#pragma once
/* Checks the JSON bodies of record writes. */
#include "records/records.h"
#include "records/rules/value.h"

enum write_mode { WRITE_CREATE, WRITE_UPDATE, WRITE_UPSERT };

/* A checked body. Its pointers live in ctx->task->arena. */
struct write_row {
    struct value *values; /* values of columns, in the entity's field order; a create has one for
                             each column */
    bool *is_given; /* parallel to `values`: the body names the field, the value is no default */
    size_t count;
    struct value *links; /* values of many relations: from the body or, in a create, defaults */
    size_t link_count;
    struct schema_errors *errors; /* findings about this row; never NULL */
    /* upsert only: findings about required fields that the body leaves out, which count if no
     * record exists yet; NULL = none */
    struct schema_errors *missing_errors;
};
/* any: Checks `body` against the entity and the caller's field rule, and fills `row` with its
 * values. Findings are added to row->errors; the caller sets this pointer to a zeroed list first.
 */
void write_body_read(struct records_ctx *ctx,
                     const struct entity *entity,
                     const json_t *body,
                     enum write_mode mode,
                     struct write_row *row);
/* any: Returns the value of a column field in a checked row, borrowed from the row; NULL when the
 * row has none. */
const struct value *row_value(const struct write_row *row, const struct model_field *field);
