#pragma once
/* The schemas of entities and their fields: the part of the data model document that depends on the
 * model. */
#include "openapi/openapi.h"

/* An entity of the data model document, with the permissions that the caller has on it. */
struct entity_doc {
    const struct entity *entity;
    const struct openapi_request *inputs;
    struct str component; /* the entity's name in components.schemas and in operationIds */
    bool can_read, can_create, can_update; /* whether the caller has the permission */
};

/* Returns an entity_doc for each entity of the model, in the order of the model; arena-owned.
 * `component` has the entity's id appended when generators would give the entity the class name of
 * an older one, or would rename it because its name is reserved. */
struct entity_doc *entity_docs(const struct openapi_request *about);

/* Actions on a field that the field rules leave to the caller. */
struct field_rights {
    bool can_read, can_create, can_update;
};
/* any: Returns the caller's rights on a field. Rules narrow permissions: without any permission on
 * the entity there is nothing to narrow, and the caller has all rights on the field, unless
 * inputs->readable_only is set. */
struct field_rights entity_field_rights(const struct entity_doc *doc,
                                        const struct model_field *field);
/* any: Whether documents name a field with these rights. */
bool field_is_shown(struct field_rights access);

/* co: Writes the schema of an entity: the fields that the caller may see, without the fields that
 * the service sets. Required fields are marked. Returns 0, or the result of doc->inputs->chunk_done
 * that stopped the document. */
AWAITS int entity_schema(struct jw *w, const struct entity_doc *doc);
/* any: Writes an object for one field: its name, its schema, whether it is required, and whether
 * filter= takes it. Writes nothing for a field that the caller may not see. */
void entity_schema_member(struct jw *w,
                          const struct entity_doc *doc,
                          const struct model_field *field);
/* co: Writes the schema of entity_schema() without required members, for updates. Returns as
 * entity_schema() does. */
AWAITS int entity_schema_update(struct jw *w, const struct entity_doc *doc);
/* co: Writes the schema of filter=, with a member for each field that can be filtered by. Returns
 * as entity_schema() does. */
AWAITS int entity_schema_filter(struct jw *w, const struct entity_doc *doc);
/* co: Writes the schema of a record as it is read. No member is required, because fields= leaves
 * out the members that it does not name. expand= replaces ids with records. Returns as
 * entity_schema() does. */
AWAITS int entity_schema_read(struct jw *w, const struct entity_doc *doc);
/* any: Writes the schema of a record as a write answers it: the members that the service sets, and
 * a reference to the entity's schema. */
void entity_schema_record(struct jw *w, const struct entity_doc *doc);
