/* /entities/{entity}/items/bulk and delete-many: many records in one request. */
#include "items/items.h"

#define BULK_MAX 1000

struct bulk_in {
    struct in_json items;
    struct in_str mode;
    struct in_strs on_conflict;
    struct in_bool atomic;
};

static const char *const bulk_modes[] = {"create", "upsert", NULL};

static const struct field bulk_fields[] = {
    {.name = "items",
     FIELD_AT(struct bulk_in, items),
     .type = FIELD_JSON,
     .required = true,
     .doc = "Up to 1,000 records"},
    {.name = "mode",
     FIELD_AT(struct bulk_in, mode),
     .type = FIELD_STR,
     .values = bulk_modes,
     .doc = "create, or upsert: a record with the same value of the on_conflict field is changed",
     .example = "\"create\""},
    {.name = "on_conflict",
     FIELD_AT(struct bulk_in, on_conflict),
     .type = FIELD_STRS,
     .max = 1,
     .doc = "The unique field that decides whether a record exists"},
    {.name = "atomic",
     FIELD_AT(struct bulk_in, atomic),
     .type = FIELD_BOOL,
     .doc = "Write all items or none, true when left out",
     .example = "true"},
};
static const struct schema bulk_schema = SCHEMA("BulkCreate", struct bulk_in, bulk_fields);

static const struct field bulk_out_fields[] = {
    {.name = "created", .type = FIELD_I64, .required = true},
    {.name = "updated", .type = FIELD_I64, .required = true},
    {.name = "failed", .type = FIELD_I64, .required = true},
    {.name = "results",
     .type = FIELD_JSON,
     .required = true,
     .doc = "One object for each item: index and id, or index and error"},
};
static const struct schema bulk_out_schema = SCHEMA_OUT("BulkResult", bulk_out_fields);

/* Reads the fields of on_conflict. A field that the caller may not read is refused like an unknown
 * field. */
static int conflict_fields(struct req *r,
                           const struct entity *entity,
                           const struct bulk_in *in,
                           struct records_bulk *bulk)
{
    const struct model_field **fields =
        ARENA_ARRAY(r->task.arena, fields, in->on_conflict.count + 1);

    for (size_t i = 0; i < in->on_conflict.count; i++) {
        fields[i] = entity_field(entity, in->on_conflict.items[i]);
        if (!fields[i] || !caller_can_field(r->scope->caller, fields[i], ACT_READ))
            return fail_field(
                r, "on_conflict", PROBLEM_UNKNOWN_FIELD, "the entity has no such field");
        if (!fields[i]->unique)
            return fail_field(
                r, "on_conflict", PROBLEM_VALIDATION_FAILED, "the field must be unique");
    }
    bulk->on_conflict = fields;
    bulk->on_conflict_count = in->on_conflict.count;
    return 0;
}

static int read_bulk(struct req *r,
                     const struct entity *entity,
                     const struct bulk_in *in,
                     struct records_bulk *ret_bulk)
{
    struct records_bulk bulk = {
        .items = in->items.value,
        .upsert = in->mode.set && str_is(in->mode.value, "upsert"),
        .atomic = !in->atomic.set || in->atomic.value,
    };

    if (!json_is_array(bulk.items))
        return fail_field(r, "items", PROBLEM_TYPE_MISMATCH, "expected an array");
    if (json_array_size(bulk.items) < 1 || json_array_size(bulk.items) > BULK_MAX)
        return fail_field(r, "items", PROBLEM_OUT_OF_RANGE, "must have 1 to %d items", BULK_MAX);
    if (bulk.upsert && !in->on_conflict.count)
        return fail_field(r, "on_conflict", PROBLEM_REQUIRED, "is required for an upsert");
    if (bulk.upsert && !caller_can_entity(r->scope->caller, entity->id, ACT_UPDATE))
        return fail(
            r, PROBLEM_FORBIDDEN, "This needs the permission %.*s:update.", STR_ARG(entity->name));
    TRY(conflict_fields(r, entity, in, &bulk));
    *ret_bulk = bulk;
    return 0;
}

AWAITS static int items_bulk(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    struct records_bulk bulk;
    struct bulk_in in;

    TRY(req_json(r, &bulk_schema, &in));
    TRY(read_bulk(r, r->scope->entity, &in, &bulk));
    TRY(items_reply_error(r, ctx, records_bulk(ctx, r->scope->entity, &bulk, &r->body)));
    resp_header_printf(r,
                       "Location",
                       "/org/%.*s/entities/%.*s/items",
                       STR_ARG(r->scope->project->slug),
                       STR_ARG(r->scope->entity->name));
    return reply_json(r, 201);
}

struct delete_many_in {
    struct in_ids ids;
    struct in_json filter;
    struct in_i64 max_affected;
};

static const struct field delete_many_fields[] = {
    {.name = "ids",
     FIELD_AT(struct delete_many_in, ids),
     .type = FIELD_IDS,
     .min = 1,
     .max = BULK_MAX,
     .doc = "Records to delete",
     .example = "[1]"},
    {.name = "filter",
     FIELD_AT(struct delete_many_in, filter),
     .type = FIELD_MAP,
     .doc = "Instead of ids: the filter of the list as an object, such as "
            "{\"status\":{\"eq\":\"old\"}}"},
    {.name = "max_affected",
     FIELD_AT(struct delete_many_in, max_affected),
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 10000,
     .doc = "With filter: when more records match, none is deleted; 500 when left out",
     .example = "500"},
};
static const struct schema delete_many_schema =
    SCHEMA("DeleteMany", struct delete_many_in, delete_many_fields);

static const struct field delete_many_out_fields[] = {
    {.name = "deleted", .type = FIELD_I64, .required = true},
    {.name = "not_found",
     .type = FIELD_IDS,
     .required = true,
     .doc = "Ids of records that do not exist or that the caller may not delete"},
};
static const struct schema delete_many_out_schema =
    SCHEMA_OUT("DeleteManyResult", delete_many_out_fields);

AWAITS static int items_delete_many(struct req *r)
{
    struct records_ctx *ctx = items_ctx(r);
    struct records_filter *filter = NULL;
    struct delete_many_in in;

    TRY(req_json(r, &delete_many_schema, &in));
    if (in.ids.set == in.filter.set)
        return fail_field(r, "ids", PROBLEM_REQUIRED, "send either ids or filter");
    if (in.filter.set) {
        filter = ARENA_NEW(r->task.arena, filter);
        TRY(items_filter_body(r, in.filter.value, filter));
    }
    TRY(items_reply_error(r,
                          ctx,
                          records_delete_many(ctx,
                                              r->scope->entity,
                                              in.ids.items,
                                              in.ids.count,
                                              filter,
                                              in.max_affected.set ? in.max_affected.value : 500,
                                              &r->body)));
    return reply_json(r, 200);
}

static const struct route items_bulk_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/entities/{entity}/items/bulk",
        .id = "items_bulk",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_CREATE,
        .body = &bulk_schema,
        .exact_numbers = true,
        .body_max = 16UL * 1024 * 1024,
        .headers = HEADER_LOCK_TOKEN,
        .success = {201, &bulk_out_schema},
        .extra_statuses = {404, 409, 423},
        .run = items_bulk,
        .class = CLASS_HEAVY,
        .summary = "Create or upsert up to 1,000 records",
        .doc = RECORD_BYTES_DOC,
    },
    {
        .method = HTTP_POST_M,
        .path = "/entities/{entity}/items/delete-many",
        .id = "items_delete_many",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_DELETE,
        .body = &delete_many_schema,
        .exact_numbers = true,
        .headers = HEADER_LOCK_TOKEN,
        .success = {200, &delete_many_out_schema},
        .extra_statuses = {404, 409, 423},
        .run = items_delete_many,
        .class = CLASS_HEAVY,
        .summary = "Delete records by ids or by filter",
        .doc = "Records that refer to the deleted records are treated as in the deletion of one "
               "record. The limit of 10,000 such records applies to the whole request.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/entities/{entity}/items",
        .id = "items_delete_collection",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_DELETE,
        .body = &delete_many_schema,
        .headers = HEADER_LOCK_TOKEN,
        .success = {200, &delete_many_out_schema},
        .extra_statuses = {404, 409, 423},
        .run = items_delete_many,
        .class = CLASS_HEAVY,
        .summary = "Delete records by ids or by filter (as delete-many)",
    },
};
ROUTES(items_bulk, "Records");
