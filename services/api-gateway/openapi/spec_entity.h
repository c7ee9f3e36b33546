#pragma once
/* Entities and their fields as schemas: the part of the data model document that depends on the
 * model. */
#include "openapi/openapi.h"

/* An entity as the caller may know it. */
struct entity_doc {
    const struct entity *entity;
    const struct openapi *about;
    struct str component;         /* its name in components.schemas and in operationIds */
    bool reads, creates, updates; /* the caller holds the permission */
};

/* One for each entity of the model, in its order. Arena-owned. Names that generators fold into one
 * class name, or rename because they mean something to them, get the entity's id behind. */
struct entity_doc *entity_docs(const struct openapi *about);

/* co: the entity's schema: all fields but those that the service sets, required ones marked. */
AWAITS int entity_schema(struct jw *w, const struct entity_doc *doc);
/* any: one of its fields, alone: name, schema, whether it is required and filtered by; nothing of
 * one that the caller may not know. */
void entity_schema_member(struct jw *w,
                          const struct entity_doc *doc,
                          const struct model_field *field);
/* The same without required members, for updates. */
AWAITS int entity_schema_update(struct jw *w, const struct entity_doc *doc);
/* The schema of filter=: a member for each field that can be filtered by. */
AWAITS int entity_schema_filter(struct jw *w, const struct entity_doc *doc);
/* A record as it is read: no member is there for sure, as fields= leaves out what it does not name,
 * and expand= puts records in the place of ids. */
AWAITS int entity_schema_read(struct jw *w, const struct entity_doc *doc);
/* A record as it was written: what the service sets, and the entity's schema. */
void entity_schema_record(struct jw *w, const struct entity_doc *doc);
