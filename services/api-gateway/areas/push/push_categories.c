/* /push/categories: groups of buttons. The app syncs the actions of each group. */
#include "areas/push/push.h"
#include "limit.h"
#include "push_categories_sql.h"

enum { GROUPS_MAX = 200, ACTIONS_MAX = 20, ACTIONS_BYTES = 65536 };

struct action_in {
    struct in_str id, label;
};
struct group_in {
    struct in_str id;
    struct in_list actions; /* of struct action_in */
};
struct sync_in {
    struct in_str app_version;
    struct in_list categories; /* of struct group_in */
};
struct category_in {
    struct in_str category, label;
    struct in_bool is_enabled;
};

static const struct field action_fields[] = {
    {.name = "id",
     FIELD_AT(struct action_in, id),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = PUSH_ID_MAX,
     .example = "\"yes\""},
    {.name = "label",
     FIELD_AT(struct action_in, label),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = 100,
     .example = "\"Coming\""},
};
static const struct schema action_schema = SCHEMA("PushAction", struct action_in, action_fields);

static const struct field group_fields[] = {
    {.name = "id",
     FIELD_AT(struct group_in, id),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = PUSH_ID_MAX,
     .example = "\"rsvp\""},
    {.name = "actions",
     FIELD_AT(struct group_in, actions),
     .type = FIELD_LIST,
     .required = true,
     .max = ACTIONS_MAX,
     .sub = &action_schema},
};
static const struct schema group_schema = SCHEMA("PushCategorySync", struct group_in, group_fields);

static const struct field sync_fields[] = {
    {.name = "app_version",
     FIELD_AT(struct sync_in, app_version),
     .type = FIELD_STR,
     .nullable = true,
     .max = 100,
     .example = "\"2.4.1\""},
    {.name = "categories",
     FIELD_AT(struct sync_in, categories),
     .type = FIELD_LIST,
     .required = true,
     .max = GROUPS_MAX,
     .sub = &group_schema},
};
static const struct schema sync_schema = SCHEMA("PushCategoriesSync", struct sync_in, sync_fields);

static const struct field save_fields[] = {
    {.name = "category",
     FIELD_AT(struct category_in, category),
     .type = FIELD_STR,
     .required = true,
     .min = 1,
     .max = PUSH_ID_MAX,
     .example = "\"rsvp\""},
    {.name = "label",
     FIELD_AT(struct category_in, label),
     .type = FIELD_STR,
     .min = 1,
     .max = 100,
     .example = "\"Coming to dinner?\""},
    {.name = "is_enabled",
     FIELD_AT(struct category_in, is_enabled),
     .type = FIELD_BOOL,
     .doc = "Sends with a disabled group are refused"},
};
static const struct schema save_schema =
    SCHEMA("PushCategoryUpdate", struct category_in, save_fields);

static const struct field out_fields[] = {
    {.name = "category", .type = FIELD_STR, .required = true, .example = "\"rsvp\""},
    {.name = "label", .type = FIELD_STR, .required = true, .example = "\"Coming to dinner?\""},
    {.name = "is_enabled", .type = FIELD_BOOL, .required = true},
    {.name = "actions", .type = FIELD_LIST, .required = true, .sub = &action_schema},
    {.name = "ios_action_order",
     .type = FIELD_STRS,
     .required = true,
     .doc = "Ids of the actions, in the order of the app's last sync",
     .example = "[\"yes\",\"no\"]"},
    {.name = "app_version",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Version of the app that synced the group last"},
    {.name = "synced_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema out_schema = SCHEMA_OUT("PushCategory", out_fields);

static const struct field synced_fields[] = {
    {.name = "categories", .type = FIELD_LIST, .required = true, .sub = &out_schema},
};
static const struct schema synced_schema = SCHEMA_OUT("PushCategoriesSynced", synced_fields);

/* --- endpoints of administrators --- */

AWAITS static int push_categories_list(struct req *r)
{
    return reply_page(r, "category", SQL_PUSH_CATEGORIES_LIST());
}

/* The category has passed push_id_is_valid(), so it needs no escaping in JSON. */
static struct str audit_detail(struct req *r, struct str category)
{
    return arena_printf(r->task.arena, "{\"category\":\"%.*s\"}", STR_ARG(category));
}

static const struct limit categories_limit = {"push_categories", "A project", "groups", GROUPS_MAX};

AWAITS static int category_check_limit(struct req *r, struct sql_strs ids)
{
    struct db_call others = db_call(SQL_PUSH_CATEGORIES_COUNT(.categories = ids));

    return limit_check(r, &categories_limit, 0, &others, ids.count);
}

AWAITS static int push_categories_save(struct req *r)
{
    struct category_in in;
    struct rows group;

    TRY(req_json(r, &save_schema, &in));
    if (!push_id_is_valid(in.category.value))
        return fail_field(
            r,
            "category",
            PROBLEM_PATTERN,
            "must be printable ASCII without spaces, slashes, backslashes and quotes");
    TRY(sql_begin(r));
    TRY(category_check_limit(r, sql_strs(&in.category.value, 1)));
    TRY(sql_one(r,
                &group,
                SQL_PUSH_CATEGORY_SAVE(.category = in.category.value,
                                       .label = in.label.set ? in.label.value : STR_NONE,
                                       .is_enabled = in.is_enabled.set
                                                         ? some_bool(in.is_enabled.value)
                                                         : NO_BOOL)));
    TRY(gateway_commit(
        r,
        gateway_audit(
            r, "push_categories.update", "push_category", 0, audit_detail(r, in.category.value))));
    return reply_row(r, 200, &group);
}

/* --- endpoint of the app --- */

static void check_id(struct req *r, struct schema_errors *errors, struct str field, struct str id)
{
    if (!push_id_is_valid(id))
        schema_error_add(r->task.arena,
                         errors,
                         field,
                         PROBLEM_PATTERN,
                         "must be printable ASCII without spaces, slashes, backslashes and quotes");
}

static void
check_is_unique(struct req *r, struct schema_errors *errors, struct str field, bool is_twice)
{
    if (is_twice)
        schema_error_add(
            r->task.arena, errors, field, PROBLEM_UNIQUE_VIOLATION, "must be unique in the list");
}

static void check_actions(struct req *r,
                          struct schema_errors *errors,
                          const struct group_in *group,
                          size_t index)
{
    const struct action_in *actions = group->actions.items;

    for (size_t i = 0; i < group->actions.count; i++) {
        struct str field = arena_printf(r->task.arena, "categories[%zu].actions[%zu].id", index, i);
        bool twice = false;
        for (size_t k = 0; k < i; k++)
            twice |= str_eq(actions[k].id.value, actions[i].id.value);
        check_id(r, errors, field, actions[i].id.value);
        check_is_unique(r, errors, field, twice);
    }
}

static int check_groups(struct req *r, const struct sync_in *in)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    const struct group_in *groups = in->categories.items;

    for (size_t i = 0; i < in->categories.count; i++) {
        struct str field = arena_printf(r->task.arena, "categories[%zu].id", i);
        bool twice = false;
        for (size_t k = 0; k < i; k++)
            twice |= str_eq(groups[k].id.value, groups[i].id.value);
        check_id(r, errors, field, groups[i].id.value);
        check_is_unique(r, errors, field, twice);
        check_actions(r, errors, &groups[i], i);
    }
    return errors->count ? fail_fields(r, errors) : 0;
}

static struct str actions_json(struct req *r, const struct in_list *list)
{
    const struct action_in *actions = list->items;
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, r->task.arena, ACTIONS_BYTES);
    jw_init(&w, &text);
    jw_arr(&w);
    for (size_t i = 0; i < list->count; i++) {
        jw_obj(&w);
        JW_STR(&w, "id", actions[i].id.value);
        JW_STR(&w, "label", actions[i].label.value);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    return strbuf_view(&text);
}

AWAITS static int push_categories_sync(struct req *r)
{
    struct sync_in in;

    TRY(req_json(r, &sync_schema, &in));
    TRY(check_groups(r, &in));
    size_t count = in.categories.count;
    const struct group_in *groups = in.categories.items;
    struct str *ids = ARENA_ARRAY(r->task.arena, ids, count + 1);
    struct str *actions = ARENA_ARRAY(r->task.arena, actions, count + 1);
    for (size_t i = 0; i < count; i++) {
        ids[i] = groups[i].id.value;
        actions[i] = actions_json(r, &groups[i].actions);
    }
    TRY(sql_begin(r));
    TRY(category_check_limit(r, sql_strs(ids, count)));
    struct db_call calls[] = {
        db_call(SQL_PUSH_CATEGORIES_SYNC(.app_version = in.app_version.value,
                                         .categories = sql_strs(ids, count),
                                         .actions = sql_strs(actions, count))),
        gateway_audit(r, "push_categories.sync", "push_category", 0, STR_NONE),
        db_call(SQL_PUSH_CATEGORIES_BY_ID(.categories = sql_strs(ids, count))),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    struct jw w = resp_json(r);
    jw_obj(&w);
    jw_lit(&w, "categories");
    rows_json_array(&r->task, &w, &calls[2].rows, calls[2].rows.count);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route push_categories_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/push/categories",
        .id = "push_categories_list",
        .auth = AUTH_ADMIN,
        .query = page_query,
        .success = {200, &out_schema, .list = true},
        .run = push_categories_list,
        .summary = "List button groups",
    },
    {
        .method = HTTP_PUT_M,
        .path = "/push/categories",
        .id = "push_categories_save",
        .auth = AUTH_ADMIN,
        .body = &save_schema,
        .success = {200, &out_schema},
        .extra_statuses = {409},
        .run = push_categories_save,
        .summary = "Label, enable or disable a button group",
        .doc =
            "Only the app sets a group's actions. A group that no app has synced has no actions.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/push/categories/sync",
        .id = "push_categories_sync",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_TENANT_PUSH_CATEGORIES_UPDATE,
        .body = &sync_schema,
        .success = {200, &synced_schema},
        .extra_statuses = {409},
        .run = push_categories_sync,
        .summary = "Sync the app's button groups and their actions",
        .doc = "Replaces the actions of each group in the request. Groups that are not in the "
               "request stay as they are.",
    },
};
ROUTES(push_categories, "Push");
