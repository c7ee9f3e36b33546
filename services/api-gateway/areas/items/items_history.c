/* Record history: versions of a record, deleted records, and restore (records/history.h). */
#include "items/items.h"
#include "records/history.h"

static const char *const actions[] = {"created", "updated", "deleted", "restored", "kept", NULL};

static const struct field version_fields[] = {
    {.name = "version",
     .type = FIELD_I64,
     .required = true,
     .doc = "Rises by one with every change; the first part of the record's ETag"},
    {.name = "action",
     .type = FIELD_STR,
     .required = true,
     .values = actions,
     .doc = "What created the version; kept: the oldest version that is known, of unknown origin"},
    {.name = "at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "by",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "The user who made the change, also through an API key or a workflow; null: no user, "
            "or not known"},
    {.name = "changed",
     .type = FIELD_STRS,
     .required = true,
     .doc = "Fields whose value differs from the previous version"},
    {.name = "record",
     .type = FIELD_MAP,
     .required = true,
     .nullable = true,
     .doc = "The record as it was in this version, with the current names of fields and under the "
            "current permissions, without secrets and without fields that the record did not have; "
            "null for a deletion"},
};
static const struct schema version_schema = SCHEMA_OUT("RecordVersion", version_fields);

static const struct field deleted_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "version",
     .type = FIELD_I64,
     .required = true,
     .doc = "The last version; restore this version to bring the record back"},
    {.name = "deleted_at", .type = FIELD_TIME, .required = true},
    {.name = "deleted_by", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "record", .type = FIELD_MAP, .required = true, .nullable = true},
};
static const struct schema deleted_schema = SCHEMA_OUT("DeletedRecord", deleted_fields);

/* clang-format off */
static const struct query_param history_query[] = {
    {.name = "page",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .fallback = "1",
     .doc = "Page number, from 1"},
    {.name = "limit",
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 100,
     .fallback = "20",
     .doc = "Versions or records per page"},
    {.name = "count",
     .type = FIELD_BOOL,
     .fallback = "true",
     .doc = "With false, items are not counted and total_items is -1"},
    {0},
};
/* clang-format on */

/* Another process may just have turned on the history of the entity: may_be_stale makes the handler
 * run again, once, with the current model. */
static struct records_ctx *history_ctx(struct req *r)
{
    r->scope->may_be_stale = r->scope->entity->history_days == 0 && !r->scope->is_rechecked;
    return items_ctx(r);
}

AWAITS static int items_history(struct req *r)
{
    struct records_ctx *ctx = history_ctx(r);
    struct page page;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_page(r, &page));
    TRY(items_reply_error(r, ctx, records_history(ctx, r->scope->entity, id, &page, &r->body)));
    return reply_json(r, 200);
}

AWAITS static int items_deleted(struct req *r)
{
    struct records_ctx *ctx = history_ctx(r);
    struct page page;

    TRY(req_page(r, &page));
    TRY(items_reply_error(r, ctx, records_deleted(ctx, r->scope->entity, &page, &r->body)));
    return reply_json(r, 200);
}

AWAITS static int items_restore_guard(struct req *r)
{
    struct records_ctx *ctx = history_ctx(r);
    int64_t version;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "version", &version));
    return items_reply_error(
        r, ctx, records_history_may_restore(ctx, r->scope->entity, id, version));
}

AWAITS static int items_restore(struct req *r)
{
    struct records_ctx *ctx = history_ctx(r);
    int64_t version;
    int64_t wanted;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "version", &wanted));
    TRY(items_reply_error(
        r, ctx, records_history_restore(ctx, r->scope->entity, id, wanted, &r->body, &version)));
    TRY(items_etag(r, version));
    return reply_json(r, 200);
}

static const struct route items_history_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/items/deleted",
        .id = "items_deleted",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_READ,
        .query = history_query,
        .headers = HEADER_GROUP_ID,
        .success = {200, &deleted_schema, .list = true},
        .extra_statuses = {404},
        .run = items_deleted,
        .guard = items_deleted,
        .summary =
            "List the deleted records of an entity that keeps history, the last deleted first",
        .doc =
            "Callers who see all records see all deleted records. Other callers see the records "
            "that they created or that X-Group-Id shows them: grants end when a record is deleted.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/items/{id}/history",
        .id = "items_history",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_READ,
        .query = history_query,
        .headers = HEADER_GROUP_ID,
        .success = {200, &version_schema, .list = true},
        .extra_statuses = {404},
        .run = items_history,
        .guard = items_history,
        .summary = "List the versions of a record: who changed what, the newest first",
        .doc = "The current permissions apply: a caller who may not read the record or one of its "
               "fields cannot read it in an earlier version either. 404 also when the entity keeps "
               "no history.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/entities/{entity}/items/{id}/history/{version}/restore",
        .id = "items_restore",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_UPDATE,
        .headers = HEADER_LOCK_TOKEN,
        .success = {200, &record_schema},
        .extra_statuses = {404, 409, 423},
        .run = items_restore,
        .guard = items_restore_guard,
        .summary = "Restore a record to an earlier version",
        .doc = "Fields that the caller may read and write get the values of the version, as by an "
               "update: a value that the entity no longer accepts is a 400 that names the field. "
               "Other fields, secrets and files stay as they are. A deleted record is first "
               "created again with its id, its owner and all its values except secrets, files and "
               "grants; this needs the permission to create, too.",
    },
};
ROUTES(items_history, "Records");
