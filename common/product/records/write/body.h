#pragma once
/* Bodies of writes, checked. */
#include "records/records.h"
#include "records/write/value.h"

enum write_mode { WRITE_CREATE, WRITE_UPDATE, WRITE_UPSERT };

/* A checked body. Pointers live in ctx->task->arena. */
struct write_row {
    struct value *values; /* of columns, in the entity's order; a create has all of them */
    bool *given;          /* parallel: named in the body, not a default */
    size_t count;
    struct value *links; /* many relations that the body names */
    size_t link_count;
    struct schema_errors *errors;  /* findings of this row; never NULL */
    struct schema_errors *missing; /* of an upsert: what a new record would need; NULL = nothing */
};
/* any: checks `body` against the entity and the caller's field rule. Findings go to row->errors,
 * which the caller sets (zeroed) before. */
void write_read(struct records_ctx *ctx,
                const struct entity *entity,
                const json_t *body,
                enum write_mode mode,
                struct write_row *row);
/* any: the value of a field in a checked row; NULL when it has none. */
const struct value *write_value(const struct write_row *row, const struct model_field *field);
