#pragma once
/*
 * The shape of an entity's index: which fields are indexed, and under which numbers. Field n of a
 * posting is fields[n - 1] for the life of a generation. Field 0 has the lists of principals
 * (search/principal.h).
 *
 * The text of a shape names everything that decides which words a record has. When it changes,
 * another generation is built (reconcile.c). Names, rules and weights are not in it.
 */
#include "model/model.h"

struct shape_field {
    int64_t id;
    const struct model_field *field;   /* NULL: the field is gone or no longer searched */
    const struct model_field *display; /* of a relation: the target's field that is indexed */
};

struct index_shape {
    const struct entity *entity;
    struct shape_field *fields;
    size_t count;
    struct str text; /* search_indexes.shape */
};

enum { SHAPE_FIELDS = 1000 };

/* The shape that the entity's index should have; false: the entity has no index. Arena-owned. */
bool shape_wanted(struct arena *arena, const struct entity *entity, struct index_shape *ret_shape);
/* The shape of a generation with these fields under the model as it is now, without `text`.
 * Arena-owned. */
void shape_of_fields(struct arena *arena,
                     const struct entity *entity,
                     struct sql_i64s field_ids,
                     struct index_shape *ret_shape);
/* The ids of the shape's fields, as search_indexes.field_ids. Arena-owned. */
struct sql_i64s shape_ids(struct arena *arena, const struct index_shape *fields);
