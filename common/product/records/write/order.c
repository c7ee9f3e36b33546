/* The order in which bulk writers lock records. */
#include "records/write/order.h"

#include <stdlib.h>

#include "base/num.h"
#include "records/write/body.h"

struct keyed_row {
    const struct db_param *key; /* NULL = the row has no value of the key */
    enum model_type type;
    size_t index;
};

static int order_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int
key_compare_typed(const struct db_param *a, const struct db_param *b, enum model_type type)
{
    if (a->kind != b->kind)
        return order_numbers((int64_t)a->kind, (int64_t)b->kind);
    switch (a->kind) {
    case PARAM_I64:
    case PARAM_TIME:
        return order_numbers(a->i64, b->i64);
    case PARAM_F64:
        return (a->f64 > b->f64) - (a->f64 < b->f64);
    case PARAM_BOOL:
        return (int)a->boolean - (int)b->boolean;
    case PARAM_STR: /* 1.5 and 1.50 are the same key */
        return type == TYPE_DECIMAL ? num_compare(a->str, b->str) : str_cmp(a->str, b->str);
    case PARAM_BYTES:
    case PARAM_NULL:
    case PARAM_I64S:
    case PARAM_STRS:
        break;
    }
    return 0;
}

static int row_key_compare(const void *left, const void *right)
{
    const struct keyed_row *a = left;
    const struct keyed_row *b = right;
    int order = a->key && b->key ? key_compare_typed(a->key, b->key, a->type) : !!a->key - !!b->key;

    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

bool rows_have_same_value(const struct write_row *one,
                          const struct write_row *other,
                          const struct model_field *field)
{
    const struct value *a = row_value(one, field);
    const struct value *b = row_value(other, field);

    if (a == NULL || b == NULL || a->param.kind == PARAM_NULL || b->param.kind == PARAM_NULL)
        return false;
    return key_compare_typed(&a->param, &b->param, field->type) == 0;
}

size_t *rows_lock_order(struct arena *arena,
                        const struct write_row *rows,
                        size_t count,
                        const struct model_field *key)
{
    struct keyed_row *placed = ARENA_ARRAY(arena, placed, count);
    size_t *order = ARENA_ARRAY(arena, order, count);

    for (size_t i = 0; i < count; i++) {
        const struct value *value = key != NULL ? row_value(&rows[i], key) : NULL;
        placed[i] = (struct keyed_row){.index = i};
        if (value == NULL)
            continue;
        placed[i].key = &value->param;
        placed[i].type = key->type;
    }
    if (key != NULL)
        qsort(placed, count, sizeof(*placed), row_key_compare);
    for (size_t i = 0; i < count; i++)
        order[i] = placed[i].index;
    return order;
}
