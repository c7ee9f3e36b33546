/* Preview of a change of the data model. */
#include "ddl/model_preview.h"

#include "ddl/ddl_preview.h"
#include "model_preview_sql.h"

const struct query_param model_dry_run_query[] = {
    DRY_RUN_PARAM("Only checks the change. The answer lists conflicts and the objects that the "
                  "change affects"),
    {0},
};

/* --- the answer --- */

static const char *const index_kinds[] = {"index", "unique", "search", NULL};
static const char *const index_changes[] = {"created", "dropped", "rebuilt", NULL};

static const struct field violation_fields[] = {
    {.name = "entity", .type = FIELD_STR, .required = true},
    {.name = "field", .type = FIELD_STR, .required = true},
    {.name = "code", .type = FIELD_STR, .required = true, .example = "\"unique_violation\""},
    {.name = "message", .type = FIELD_STR, .required = true},
    {.name = "rows",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc =
         "Number of records that conflict with the change; 0 if the field's definition conflicts "
         "with the change, null if the caller does not see all records"},
    {.name = "ids",
     .type = FIELD_IDS,
     .required = true,
     .doc = "Ids of the first ten records that conflict with the change; empty if the caller does "
            "not see all records"},
};
static const struct schema violation_schema = SCHEMA_OUT("ModelChangeViolation", violation_fields);
static const struct field named_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
};
static const struct schema named_schema = SCHEMA_OUT("ModelChangeNamed", named_fields);
static const struct field enum_field_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "entity", .type = FIELD_STR, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
};
static const struct schema enum_field_schema = SCHEMA_OUT("ModelChangeField", enum_field_fields);
static const struct field menu_item_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "menu_id", .type = FIELD_I64, .required = true},
    {.name = "menu", .type = FIELD_STR, .required = true},
};
static const struct schema preview_menu_item_schema =
    SCHEMA_OUT("ModelChangeMenuItem", menu_item_fields);
static const struct field index_fields[] = {
    {.name = "field", .type = FIELD_STR, .required = true},
    {.name = "kind", .type = FIELD_STR, .required = true, .values = index_kinds},
    {.name = "change", .type = FIELD_STR, .required = true, .values = index_changes},
};
static const struct schema index_schema = SCHEMA_OUT("ModelChangeIndex", index_fields);
static const struct field affected_fields[] = {
    {.name = "workflows",
     .type = FIELD_LIST,
     .required = true,
     .nullable = true,
     .sub = &named_schema,
     .doc = "Workflows whose trigger or steps refer to the entity or field; null if the caller "
            "may not read workflows"},
    {.name = "roles",
     .type = FIELD_LIST,
     .required = true,
     .nullable = true,
     .sub = &named_schema,
     .doc = "Roles with a permission on the entity, or with a rule for the field; null if the "
            "caller may not read roles"},
    {.name = "menu_items",
     .type = FIELD_LIST,
     .required = true,
     .nullable = true,
     .sub = &preview_menu_item_schema,
     .doc = "Menu items that lead to the entity or require a permission on the entity; null if the "
            "caller may not read menus"},
    {.name = "indexes", .type = FIELD_LIST, .required = true, .sub = &index_schema},
    {.name = "fields",
     .type = FIELD_LIST,
     .required = true,
     .sub = &enum_field_schema,
     .doc = "Fields that take their values from the changed enum, as far as the caller may see "
            "fields"},
};
static const struct schema affected_schema = SCHEMA_OUT("ModelChangeAffected", affected_fields);
static const struct field preview_fields[] = {
    {.name = "safe",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "Whether the change has no conflicts and deletes no data"},
    {.name = "rewrites_rows",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "Number of records that are rewritten, counted up to " DDL_COUNTED
            "; null if the caller does not see all records"},
    {.name = "loses_rows",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "Number of records that are deleted or lose a value, counted up to " DDL_COUNTED
            "; null if the caller does not see all records"},
    {.name = "violations",
     .type = FIELD_LIST,
     .required = true,
     .sub = &violation_schema,
     .doc = "Conflicts with stored records or with definitions of fields; the change would be "
            "refused with 409"},
    {.name = "affected", .type = FIELD_OBJ, .required = true, .sub = &affected_schema},
};
const struct schema model_preview_schema = SCHEMA_OUT("ModelChange", preview_fields);

/* The objects that refer to the subject, as JSON texts; null: the caller may not read the kind. */
struct references {
    struct str workflows, roles, menu_items;
};

static void preview_put_count(struct jw *w, const char *name, struct opt_i64 count)
{
    jw_lit(w, name);
    if (count.set)
        jw_i64(w, count.value);
    else
        jw_null(w);
}

static void put_violation(struct jw *w, const struct ddl_violation *violation)
{
    jw_obj(w);
    JW_STR(w, "entity", violation->entity);
    JW_STR(w, "field", violation->field);
    JW_CSTR(w, "code", problem_code(violation->code));
    JW_STR(w, "message", violation->message);
    preview_put_count(w, "rows", violation->rows);
    jw_lit(w, "ids");
    jw_arr(w);
    for (size_t i = 0; i < violation->ids.count; i++)
        jw_i64(w, violation->ids.items[i]);
    jw_arr_end(w);
    jw_obj_end(w);
}

static void put_found(struct jw *w, const char *name, struct str found)
{
    jw_lit(w, name);
    jw_raw(w, found);
}

static void
put_affected(struct jw *w, const struct ddl_preview *preview, const struct references *referring)
{
    jw_obj(w);
    put_found(w, "workflows", referring->workflows);
    put_found(w, "roles", referring->roles);
    put_found(w, "menu_items", referring->menu_items);
    jw_lit(w, "indexes");
    jw_arr(w);
    for (size_t i = 0; i < preview->index_count; i++) {
        jw_obj(w);
        JW_STR(w, "field", preview->indexes[i].field);
        JW_CSTR(w, "kind", preview->indexes[i].kind);
        JW_CSTR(w, "change", preview->indexes[i].change);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_lit(w, "fields");
    jw_arr(w);
    for (size_t i = 0; i < preview->field_count; i++) {
        jw_obj(w);
        JW_I64(w, "id", preview->fields[i]->id);
        JW_STR(w, "entity", preview->fields[i]->entity->name);
        JW_STR(w, "name", preview->fields[i]->name);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
}

static int reply_preview(struct req *r, const struct references *referring)
{
    const struct ddl_preview *preview = r->scope->preview;
    bool loses = preview->loses_data && (!preview->loses_rows.set || preview->loses_rows.value > 0);
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_BOOL(&w, "safe", preview->violation_count == 0 && !loses);
    preview_put_count(&w, "rewrites_rows", preview->rewrites_rows);
    preview_put_count(&w, "loses_rows", preview->loses_rows);
    jw_lit(&w, "violations");
    jw_arr(&w);
    for (size_t i = 0; i < preview->violation_count; i++)
        put_violation(&w, &preview->violations[i]);
    jw_arr_end(&w);
    jw_lit(&w, "affected");
    put_affected(&w, preview, referring);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* --- references --- */

AWAITS static int preview_find_references(struct req *r,
                                          struct str *ret_found,
                                          enum perm perm,
                                          const struct sql *sql,
                                          const struct db_param *params,
                                          size_t count)
{
    struct rows found;

    *ret_found = STR("null");
    if (!caller_can(r->scope->caller, perm))
        return 0;
    TRY(sql_one(r, &found, sql, params, count));
    *ret_found = sql_preview_found_row(&found, 0).found;
    return 0;
}

AWAITS static int preview_referring(struct req *r,
                                    const struct model_subject *subject,
                                    struct references *ret_referring)
{
    const struct entity *entity = subject->entity;
    const struct model_field *field = subject->field;

    *ret_referring = (struct references){STR("[]"), STR("[]"), STR("[]")};
    if (!entity)
        return 0;
    TRY(preview_find_references(r,
                                &ret_referring->workflows,
                                PERM_SVC_WORKFLOWS_READ,
                                SQL_PREVIEW_WORKFLOWS(.entity_id = entity->id,
                                                      .entity = entity->name,
                                                      .field = field ? field->name : STR_NONE)));
    TRY(preview_find_references(
        r,
        &ret_referring->roles,
        PERM_SVC_ROLES_READ,
        SQL_PREVIEW_ROLES(.entity_id = entity->id, .field_id = some_id(field ? field->id : 0))));
    if (field)
        return 0;
    return preview_find_references(r,
                                   &ret_referring->menu_items,
                                   PERM_SVC_MENUS_READ,
                                   SQL_PREVIEW_MENU_ITEMS(.entity_id = entity->id));
}

/* --- the preview --- */

int model_is_dry_run(struct req *r, bool *ret_dry_run)
{
    const struct query *query;

    TRY(req_query(r, &query));
    *ret_dry_run = str_is(query_get(query, "dry_run"), "true");
    return 0;
}

int model_preview(struct req *r, model_preview_fn make, void *arg)
{
    struct ddl_preview *preview = ARENA_NEW(r->task.arena, preview);
    struct model_subject subject = {NULL, NULL};
    struct references referring;

    if (r->scope->begin_hook) { /* If-Match */
        TRY(sql_begin(r));
        gateway_roll_back(r);
    }
    (void)gateway_refresh_project(r);
    ddl_preview_init(preview, r->task.arena);
    r->scope->preview = preview;
    TRY(make(r, arg, &subject));
    TRY(preview_referring(r, &subject, &referring));
    return reply_preview(r, &referring);
}
