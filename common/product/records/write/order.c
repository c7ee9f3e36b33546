/* The order in which bulk writers lock records. */
#include <stdlib.h>

#include "base/num.h"
#include "records/write/body.h"
#include "records/write/order.h"

struct placed {
    const struct db_param *key; /* NULL = the row has no value of the key */
    enum model_type type;
    size_t place;
};

static int order_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int order_keys(const struct db_param *a, const struct db_param *b, enum model_type type)
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

static int order_placed(const void *left, const void *right)
{
    const struct placed *a = left;
    const struct placed *b = right;
    int order = a->key && b->key ? order_keys(a->key, b->key, a->type) : !!a->key - !!b->key;

    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

bool write_same(const struct write_row *one,
                const struct write_row *other,
                const struct model_field *field)
{
    const struct value *a = write_value(one, field);
    const struct value *b = write_value(other, field);

    if (a == NULL || b == NULL || a->param.kind == PARAM_NULL || b->param.kind == PARAM_NULL)
        return false;
    return order_keys(&a->param, &b->param, field->type) == 0;
}

size_t *write_order(struct arena *arena,
                    const struct write_row *rows,
                    size_t count,
                    const struct model_field *key)
{
    struct placed *placed = ARENA_ARRAY(arena, placed, count);
    size_t *order = ARENA_ARRAY(arena, order, count);

    for (size_t i = 0; i < count; i++) {
        const struct value *value = key != NULL ? write_value(&rows[i], key) : NULL;
        placed[i] = (struct placed){.place = i};
        if (value == NULL)
            continue;
        placed[i].key = &value->param;
        placed[i].type = key->type;
    }
    if (key != NULL)
        qsort(placed, count, sizeof(*placed), order_placed);
    for (size_t i = 0; i < count; i++)
        order[i] = placed[i].place;
    return order;
}
