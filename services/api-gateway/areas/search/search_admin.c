/* /search/status, rehydrate, purge: administrators check, rebuild and empty the indexes. */
#include "areas/search/search.h"
#include "bus/bus.h"
#include "search_admin_sql.h"

static const char *const statuses[] = {"Ready", "Indexing", "Failed", NULL};

static const struct field status_fields[] = {
    {.name = "entity", .type = FIELD_STR, .required = true, .example = "\"products\""},
    {.name = "status", .type = FIELD_STR, .required = true, .values = statuses},
    {.name = "documents",
     .type = FIELD_I64,
     .required = true,
     .doc = "Records in the index; while Indexing, in the index that is being built"},
    {.name = "total",
     .type = FIELD_I64,
     .required = true,
     .doc = "Records that the complete index will have"},
    {.name = "documents_per_second",
     .type = FIELD_F64,
     .required = true,
     .nullable = true,
     .doc = "Records indexed per second, while the status is Indexing; null otherwise, and before "
            "the first record"},
    {.name = "remaining_seconds",
     .type = FIELD_I64,
     .required = true,
     .nullable = true,
     .doc = "Estimated time until the index is complete, while the status is Indexing; null "
            "otherwise, and before the first record"},
    {.name = "last_indexed_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "error",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Why indexing failed; the previous index, if there is one, is still searched"},
};
static const struct schema status_schema = SCHEMA_OUT("SearchStatus", status_fields);

static const struct field indexing_fields[] = {
    {.name = "status", .type = FIELD_STR, .required = true, .values = statuses},
};
static const struct schema indexing_schema = SCHEMA_OUT("SearchIndexing", indexing_fields);

/* The entities of a command: all searchable entities, or the entity of the path. */
struct chosen_entities {
    int64_t *ids;
    size_t count;
    int64_t target; /* of the audit row: 0 = all */
};

static void choose_all_entities(struct req *r, struct chosen_entities *ret)
{
    const struct model *model = r->scope->model;

    *ret = (struct chosen_entities){
        .ids = ARENA_ARRAY(r->task.arena, ret->ids, model->entity_count + 1)};
    for (size_t i = 0; i < model->entity_count; i++)
        if (model->entities[i].has_index)
            ret->ids[ret->count++] = model->entities[i].id;
}

AWAITS static int search_status(struct req *r)
{
    struct chosen_entities chosen;

    choose_all_entities(r, &chosen);
    return reply_page(
        r, "entity", SQL_SEARCH_STATUS(.entity_ids = sql_i64s(chosen.ids, chosen.count)));
}

static int choose_path_entity(struct req *r, struct chosen_entities *ret)
{
    const struct entity *entity;

    TRY(gateway_entity(r, &entity));
    if (!entity->has_index)
        return fail(r, PROBLEM_CONFLICT, "The entity has no searchable field.");
    *ret = (struct chosen_entities){
        .ids = ARENA_NEW(r->task.arena, ret->ids), .count = 1, .target = entity->id};
    ret->ids[0] = entity->id;
    return 0;
}

/* Notifies the indexers. If a notification is lost, they find the change when they poll. */
static void notify_indexers(struct req *r)
{
    bus_notify(directory_bus(gateway_directory()),
               BUS_SEARCH,
               &(struct bus_notification){.project = r->scope->project->number,
                                          .partition = r->scope->project->partition,
                                          .kind = "search.changed",
                                          .traceparent = gateway_traceparent(r)});
}

int search_fail_malformed(struct search_plan *plan, const struct search_target *target)
{
    struct req *r = plan->r;

    if (target != NULL) {
        TRY(sql_exec(
            r, NULL, SQL_SEARCH_REHYDRATE(.entity_ids = sql_i64s(&target->entity->id, 1))));
        notify_indexers(r);
    }
    return fail(r, PROBLEM_DEPENDENCY_UNAVAILABLE, "The search index cannot be read.");
}

AWAITS static int rehydrate_entities(struct req *r, const struct chosen_entities *chosen)
{
    struct db_call audit = gateway_audit(r, "search.rehydrate", "entity", chosen->target, STR_NONE);
    int64_t begun = 0;

    TRY(sql_begin(r));
    TRY(sql_exec(
        r, &begun, SQL_SEARCH_REHYDRATE(.entity_ids = sql_i64s(chosen->ids, chosen->count))));
    if (chosen->target != 0 && begun == 0)
        return fail(r, PROBLEM_CONFLICT, "The entity is being indexed already.");
    TRY(gateway_commit(r, audit));
    notify_indexers(r);
    struct jw w = resp_json(r);
    jw_obj(&w);
    JW_CSTR(&w, "status", "Indexing");
    jw_obj_end(&w);
    return reply_json(r, 202);
}

AWAITS static int search_rehydrate(struct req *r)
{
    struct chosen_entities chosen;

    choose_all_entities(r, &chosen);
    return rehydrate_entities(r, &chosen);
}

AWAITS static int search_entity_guard(struct req *r)
{
    const struct entity *entity;

    return gateway_entity(r, &entity);
}

AWAITS static int search_rehydrate_entity(struct req *r)
{
    struct chosen_entities chosen = {0};

    TRY(choose_path_entity(r, &chosen));
    return rehydrate_entities(r, &chosen);
}

AWAITS static int purge_entities(struct req *r, const struct chosen_entities *chosen)
{
    struct sql_i64s ids = sql_i64s(chosen->ids, chosen->count);
    struct db_call calls[] = {
        db_call(SQL_SEARCH_PURGE(.entity_ids = ids)),
        db_call(SQL_SEARCH_PURGED(.entity_ids = ids)),
        gateway_audit(r, "search.purge", "entity", chosen->target, STR_NONE),
    };

    TRY(sql_begin(r));
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    TRY(sql_commit(r));
    notify_indexers(r);
    return reply_empty(r, 204);
}

AWAITS static int search_purge(struct req *r)
{
    struct chosen_entities chosen;

    choose_all_entities(r, &chosen);
    return purge_entities(r, &chosen);
}

AWAITS static int search_purge_entity(struct req *r)
{
    struct chosen_entities chosen = {0};

    TRY(choose_path_entity(r, &chosen));
    return purge_entities(r, &chosen);
}

#define INDEXING_DOC                                                                               \
    "Builds the index again from the records, in the background. The previous index is "           \
    "searched until the new index is complete."

static const struct route search_admin_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/search/status",
        .id = "search_status",
        .auth = AUTH_ADMIN,
        .query = page_query,
        .success = {200, &status_schema, .list = true},
        .run = search_status,
        .summary = "List the indexes of searchable entities",
    },
    {
        .method = HTTP_POST_M,
        .path = "/search/rehydrate",
        .id = "search_rehydrate",
        .auth = AUTH_ADMIN,
        .success = {202, &indexing_schema},
        .run = search_rehydrate,
        .summary = "Index all entities again",
        .doc = INDEXING_DOC " Entities that are being indexed already continue.",
    },
    {
        .method = HTTP_POST_M,
        .path = "/search/rehydrate/{entity}",
        .id = "search_rehydrate_entity",
        .auth = AUTH_ADMIN,
        .success = {202, &indexing_schema},
        .extra_statuses = {404, 409},
        .run = search_rehydrate_entity,
        .guard = search_entity_guard,
        .summary = "Index an entity again",
        .doc = INDEXING_DOC " 409 if the entity is being indexed already or is not searchable.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/search/purge",
        .id = "search_purge",
        .auth = AUTH_ADMIN,
        .success = {204},
        .run = search_purge,
        .summary = "Empty the index of all entities",
        .doc = "Takes effect at once; no record is found until the entities are indexed again.",
    },
    {
        .method = HTTP_DELETE_M,
        .path = "/search/purge/{entity}",
        .id = "search_purge_entity",
        .auth = AUTH_ADMIN,
        .success = {204},
        .extra_statuses = {404, 409},
        .run = search_purge_entity,
        .guard = search_entity_guard,
        .summary = "Empty the index of an entity",
        .doc = "Takes effect at once; no record of the entity is found until the entity is indexed "
               "again.",
    },
};
ROUTES(search_admin, "Search");
