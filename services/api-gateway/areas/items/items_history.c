/* Record history: versions of a record, deleted records, and restore (records/history.h). */
#include "areas/items/items.h"
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
     .doc = "What made it; kept: the oldest that is known, and nothing of how it came about"},
    {.name = "at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "by",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "The user who did it, also by an API key or a workflow; null: nobody, or not known"},
    {.name = "changed",
     .type = FIELD_STRS,
     .required = true,
     .doc = "Fields that have another value than in the version before"},
    {.name = "record",
     .type = FIELD_MAP,
     .required = true,
     .nullable = true,
     .doc = "The record as it was, by the names and to the rights of now, without secrets and "
            "fields that it did not have; null of a deletion"},
};
static const struct schema version_schema = SCHEMA_OUT("RecordVersion", version_fields);

static const struct field deleted_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "version",
     .type = FIELD_I64,
     .required = true,
     .doc = "The last one, which brings it back"},
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
     .doc = "Versions, or records, per page"},
    {.name = "count",
     .type = FIELD_BOOL,
     .fallback = "true",
     .doc = "false leaves the count out: total_items is then -1"},
    {0},
};
/* clang-format on */

/* Another process may just have turned on the history of the entity. Setting `behind` repeats the
 * request once with the current model. */
static struct records_ctx *history_ctx(struct req *r)
{
    r->scope->behind = r->scope->entity->history_days == 0 && !r->scope->current;
    return items_ctx(r);
}

AWAITS static int items_history(struct req *r)
{
    struct records_ctx *ctx = history_ctx(r);
    struct page page;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_page(r, &page));
    TRY(items_check(r, ctx, records_history(ctx, r->scope->entity, id, &page, &r->body)));
    return reply_json(r, 200);
}

AWAITS static int items_deleted(struct req *r)
{
    struct records_ctx *ctx = history_ctx(r);
    struct page page;

    TRY(req_page(r, &page));
    TRY(items_check(r, ctx, records_deleted(ctx, r->scope->entity, &page, &r->body)));
    return reply_json(r, 200);
}

AWAITS static int restore_guard(struct req *r)
{
    struct records_ctx *ctx = history_ctx(r);
    int64_t version;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "version", &version));
    return items_check(r, ctx, records_history_may_restore(ctx, r->scope->entity, id, version));
}

AWAITS static int items_restore(struct req *r)
{
    struct records_ctx *ctx = history_ctx(r);
    int64_t version;
    int64_t wanted;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "version", &wanted));
    TRY(items_check(
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
        .ok = {200, &deleted_schema, .list = true},
        .fails = {404},
        .run = items_deleted,
        .guard = items_deleted,
        .summary = "List deleted records of an entity that keeps history, the last one first",
        .doc = "Who sees all records sees all of them, others those that they made or that "
               "X-Group-Id shows them: grants end with a record.",
    },
    {
        .method = HTTP_GET_M,
        .path = "/entities/{entity}/items/{id}/history",
        .id = "items_history",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_READ,
        .query = history_query,
        .headers = HEADER_GROUP_ID,
        .ok = {200, &version_schema, .list = true},
        .fails = {404},
        .run = items_history,
        .guard = items_history,
        .summary = "List the versions of a record: who changed what, the newest first",
        .doc = "Rights are those of now: who may not read the record, or a field of it, does not "
               "read what it was. 404 also when the entity keeps no history.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/entities/{entity}/items/{id}/history/{version}/restore",
        .id = "items_restore",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_ENTITY_UPDATE,
        .headers = HEADER_LOCK_TOKEN,
        .ok = {200, &record_schema},
        .fails = {404, 409, 423},
        .run = items_restore,
        .guard = restore_guard,
        .summary = "Make a record what it was in a version",
        .doc = "Fields that the caller may read and write get their values of then, as by an "
               "update: what the entity does not take any more is a 400 that names the field. "
               "Others, secrets and files stay as they are. A deleted record comes back first, "
               "with its id and owner and all it had but secrets, files and grants; that needs "
               "the permission to create, too.",
    },
};
ROUTES(items_history, "Records");
