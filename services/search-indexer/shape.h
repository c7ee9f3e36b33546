#pragma once
/*
 * What an entity's index is made of. A posting's field n is fields[n - 1], for the life of a
 * generation; field 0 has the lists of principals. Whatever changes the words of a field changes
 * the text of the shape, and with it wants another generation; names, rules and weights do not.
 */
#include "model/model.h"

struct shape_field {
    int64_t id;
    const struct model_field *field;   /* NULL: it is gone, or not searched any more */
    const struct model_field *display; /* of a relation: what its target is called */
};

struct index_shape {
    const struct entity *entity;
    struct shape_field *fields;
    size_t count;
    struct str text; /* search_indexes.shape */
};

enum { SHAPE_FIELDS = 1000 };

/* What it is to be; false: the entity has no index. Arena-owned. */
bool shape_wanted(struct arena *arena, const struct entity *entity, struct index_shape *ret_shape);
/* What a generation with these fields is to have from now on. Arena-owned. */
void shape_of_fields(struct arena *arena,
                     const struct entity *entity,
                     struct sql_i64s field_ids,
                     struct index_shape *ret_shape);
/* The ids of its fields, as search_indexes.field_ids. Arena-owned. */
struct sql_i64s shape_ids(struct arena *arena, const struct index_shape *shape);
