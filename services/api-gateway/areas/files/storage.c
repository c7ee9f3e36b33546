/* GET /storage: bytes and numbers of the project's files. */
#include "app.h"
#include "files_sql.h"

static const struct field entity_fields[] = {
    {.name = "entity",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "null: files that are attached to no record"},
    {.name = "bytes", .type = FIELD_I64, .required = true},
    {.name = "files", .type = FIELD_I64, .required = true},
};
static const struct schema entity_schema = SCHEMA_OUT("StorageOfEntity", entity_fields);

static const struct field kind_fields[] = {
    {.name = "kind", .type = FIELD_STR, .required = true, .example = "\"image\""},
    {.name = "bytes", .type = FIELD_I64, .required = true},
    {.name = "files", .type = FIELD_I64, .required = true},
};
static const struct schema kind_schema = SCHEMA_OUT("StorageOfKind", kind_fields);

static const struct field variant_fields[] = {
    {.name = "bytes", .type = FIELD_I64, .required = true},
    {.name = "files", .type = FIELD_I64, .required = true},
};
static const struct schema variant_schema = SCHEMA_OUT("StorageOfVariants", variant_fields);

static const struct field storage_fields[] = {
    {.name = "bytes", .type = FIELD_I64, .required = true},
    {.name = "files", .type = FIELD_I64, .required = true},
    {.name = "quota_bytes",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "The setting storage_quota; null: no limit"},
    {.name = "variants",
     .type = FIELD_OBJ,
     .required = true,
     .sub = &variant_schema,
     .doc = "Pictures in other sizes and formats: a cache that no other number includes"},
    {.name = "entities", .type = FIELD_LIST, .required = true, .sub = &entity_schema},
    {.name = "kinds", .type = FIELD_LIST, .required = true, .sub = &kind_schema},
};
static const struct schema storage_schema = SCHEMA_OUT("Storage", storage_fields);

AWAITS static int storage_get(struct req *r)
{
    int64_t quota = r->scope->project->settings.storage_quota;
    struct rows rows;
    struct jw w;

    TRY(sql_one(r, &rows, SQL_STORAGE_REPORT()));
    w = resp_json(r);
    jw_obj(&w);
    rows_json_members(&w, &rows, 0);
    if (quota > 0)
        JW_I64(&w, "quota_bytes", quota);
    else
        JW_NULL(&w, "quota_bytes");
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route storage_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/storage",
        .id = "storage_get",
        .auth = AUTH_ADMIN,
        .success = {200, &storage_schema},
        .run = storage_get,
        .summary = "Get bytes and numbers of files, by entity and by kind",
    },
};
ROUTES(storage, "Files");
