/* The tools that models may call. */
#include "areas/assistant/ai_tools_private.h"

#include "json/jr.h"

#define LIMIT_MAX 50

/* clang-format off */
#define TOOL(name, about, properties, needed)                                                      \
    "{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"description\":\"" about          \
    "\",\"parameters\":{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" needed \
    "]}}}"
#define TEXT(name, about) "\"" name "\":{\"type\":\"string\",\"description\":\"" about "\"}"
#define ENTITY            TEXT("entity", "Name of the entity")

const char ai_tools_json[] =
    "[" TOOL("list_entities", "Entities that the user may read, with their fields.", "", "")
    "," TOOL("list_records", "Records of an entity.",
             ENTITY "," TEXT("query", "Such as filter[price][gte]=10&filter[name][icontains]=chair"
                                      "&sort=-created_at&fields=id,name&limit=10"),
             "\"entity\"")
    "," TOOL("get_record", "One record.", ENTITY ",\"id\":{\"type\":\"integer\"}",
             "\"entity\",\"id\"")
    "," TOOL("aggregate_records", "Counts, sums and averages of an entity's records.",
             ENTITY "," TEXT("query", "Such as group_by=status&count=*&sum=total&avg=total&"
                                      "filter[price][gte]=10"),
             "\"entity\"")
    "," TOOL("search", "Searches records by the words in them, best match first.",
             TEXT("words", "Such as blue chair") "," TEXT("entity", "Only in this entity"),
             "\"words\"")
    "," TOOL("read_documentation", "The API that the user may call: a list of the entities and "
                                   "operations that match the words, an entity with its fields, "
                                   "or a whole operation.",
             TEXT("words", "Such as upload file; with entity, words of its fields")
             "," TEXT("entity", "Name of an entity in the list")
             "," TEXT("operation", "Name of an operation in the list"), "")
    "," TOOL("list_workflows", "Workflows that the user may start.", "", "")
    "," TOOL("run_workflow", "Asks the user to start a workflow, which starts only after the user "
                             "has confirmed.",
             "\"workflow_id\":{\"type\":\"integer\"},\"data\":{\"description\":\"Any JSON value\"}",
             "\"workflow_id\"")
    "]";
/* clang-format on */

/* --- refusals --- */

int ai_tool_refuse(struct tool_call *call, enum problem problem, struct str detail)
{
    struct jw w;

    call->out.len = 0;
    call->out.overflow = false;
    jw_init(&w, &call->out);
    jw_obj(&w);
    jw_lit(&w, "error");
    jw_obj(&w);
    JW_CSTR(&w, "code", problem_code(problem));
    JW_STR(&w, "detail", detail);
    jw_obj_end(&w);
    jw_obj_end(&w);
    return 0;
}

int ai_tool_check_size(struct tool_call *call)
{
    if (call->out.overflow)
        return ai_tool_refuse(
            call, PROBLEM_TOO_LARGE_ANSWER, STR("The result is too large: request less."));
    return 0;
}

static int tool_finish(struct tool_call *call, int rc)
{
    const struct records_error *error = &call->ctx.error;

    if (rc == RECORDS_FAILED && error->fields.count > 0)
        return ai_tool_refuse(call, error->code, error->fields.items[0].message);
    if (rc == RECORDS_FAILED)
        return ai_tool_refuse(call, error->code, error->detail);
    if (rc > 0)
        return ai_tool_refuse(call, PROBLEM_DEPENDENCY_UNAVAILABLE, STR("Try again."));
    return rc < 0 ? rc : ai_tool_check_size(call);
}

/* --- tools --- */

static void field_put(struct jw *w, const struct model_field *field)
{
    jw_obj(w);
    JW_STR(w, "name", field->name);
    JW_CSTR(w, "type", model_type_info(field->type)->name);
    jw_obj_end(w);
}

static int tool_entities(struct tool_call *call)
{
    const struct model *model = call->ctx.model;
    struct jw w;

    jw_init(&w, &call->out);
    jw_arr(&w);
    for (size_t i = 0; i < model->entity_count; i++) {
        const struct entity *entity = &model->entities[i];
        if (!caller_can_entity(call->caller, entity->id, ACT_READ))
            continue;
        jw_obj(&w);
        JW_STR(&w, "name", entity->name);
        jw_lit(&w, "fields");
        jw_arr(&w);
        for (size_t n = 0; n < entity->field_count; n++)
            if (caller_can_field(call->caller, &entity->fields[n], ACT_READ))
                field_put(&w, &entity->fields[n]);
        jw_arr_end(&w);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    if (call->out.overflow)
        return ai_tool_refuse(
            call,
            PROBLEM_TOO_LARGE_ANSWER,
            STR("There are too many entities: find them by words with read_documentation."));
    return 0;
}

/* Adds the id to the fields of a list. The next call of the model needs the id, and so does the
 * check whether the result may be sent again. */
static struct str fields_add_id(struct arena *arena, struct str fields)
{
    struct str rest = fields;

    while (rest.ptr)
        if (str_is(str_trim(str_split(&rest, ',')), "id"))
            return fields;
    return fields.len > 0 ? arena_printf(arena, "id,%.*s", STR_ARG(fields)) : fields;
}

AWAITS static int tool_list(struct tool_call *call)
{
    struct records_query query;

    int rc = items_query_read(&call->ctx, &call->query, &query);
    if (rc != 0)
        return tool_finish(call, rc);
    query.limit = query.limit < LIMIT_MAX ? query.limit : LIMIT_MAX;
    query.fields = fields_add_id(call->task->arena, query.fields);
    return tool_finish(call, records_list(&call->ctx, call->entity, &query, &call->out));
}

AWAITS static int tool_get(struct tool_call *call)
{
    int64_t id = jr_i64(call->arguments, "id", 0);
    int64_t version;

    if (id <= 0)
        return ai_tool_refuse(call, PROBLEM_REQUIRED, STR("id is required."));
    return tool_finish(call, records_get(&call->ctx, call->entity, id, NULL, &call->out, &version));
}

AWAITS static int tool_aggregate(struct tool_call *call)
{
    const struct records_aggregate groups = items_aggregate_read(call->task->arena, &call->query);

    return tool_finish(call, records_aggregate(&call->ctx, call->entity, &groups, &call->out));
}

static const struct tool {
    const char *name;
    bool of_entity;
    enum ai_tool_rule rule;
    int (*run)(struct tool_call *call); /* AWAITS */
} tools[] = {
    {"list_entities", false, AI_TOOL_OTHER, tool_entities},
    {"list_records", true, AI_TOOL_RECORDS, tool_list},
    {"get_record", true, AI_TOOL_RECORDS, tool_get},
    {"aggregate_records", true, AI_TOOL_GROUPS, tool_aggregate},
    {"search", false, AI_TOOL_OTHER, ai_tool_run_search},
    {"read_documentation", false, AI_TOOL_OTHER, ai_tool_run_documentation},
    {"list_workflows", false, AI_TOOL_WORKFLOWS, ai_tool_list_workflows},
    {"run_workflow", false, AI_TOOL_WORKFLOWS, ai_tool_propose_workflow},
};

static const struct tool *tool_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        if (str_is(name, tools[i].name))
            return &tools[i];
    return NULL;
}

bool ai_tool_exists(struct str name)
{
    return tool_find(name) != NULL;
}

bool ai_tool_rule_read(struct str name, enum ai_tool_rule *ret_rule)
{
    const struct tool *tool = tool_find(name);

    if (tool)
        *ret_rule = tool->rule;
    return tool != NULL;
}

/* --- one call --- */

/* Finds the entity that the arguments name. Refuses an entity that the caller may not read with
 * PROBLEM_FORBIDDEN. An unknown entity is refused in the same way, unless the caller may know which
 * entities exist (svc_entities:read). */
static bool entity_find(struct tool_call *call)
{
    struct str name = jr_str(call->arguments, "entity");

    call->entity = model_entity(call->ctx.model, name);
    if (!call->entity && caller_can(call->caller, PERM_SVC_ENTITIES_READ))
        (void)ai_tool_refuse(call, PROBLEM_NOT_FOUND, STR("There is no such entity."));
    else if (!call->entity || !caller_can_entity(call->caller, call->entity->id, ACT_READ))
        (void)ai_tool_refuse(call, PROBLEM_FORBIDDEN, STR("The user may not read this entity."));
    else
        return true;
    return false;
}

AWAITS static int tool_run(struct tool_call *call, struct str name, struct str arguments)
{
    const struct tool *tool = tool_find(name);
    struct jr_error error;
    const char *reason;
    json_t *given;

    if (!tool)
        return ai_tool_refuse(call, PROBLEM_NOT_FOUND, STR("There is no such tool."));
    if (!caller_has_api_access(call->caller))
        return ai_tool_refuse(
            call, PROBLEM_API_ACCESS_DISABLED, STR("The user has no API access."));
    if (jr_parse(call->task->arena, arguments.len > 0 ? arguments : STR("{}"), &given, &error) != 0)
        return ai_tool_refuse(call, PROBLEM_INVALID_JSON, str_from(error.text));
    call->arguments = given;
    if (query_parse(call->task->arena, jr_str(given, "query"), &call->query, &reason) != 0)
        return ai_tool_refuse(call, PROBLEM_INVALID_QUERY, str_from(reason));
    if (tool->of_entity && !entity_find(call))
        return 0;
    int rc = tool->run(call);
    return rc > 0 ? ai_tool_refuse(call, PROBLEM_DEPENDENCY_UNAVAILABLE, STR("Try again.")) : rc;
}

int ai_tool_run(struct task *task,
                const struct ai_tool_user *user,
                struct str name,
                struct str arguments,
                struct ai_tool_result *ret_result)
{
    struct tool_call *call = ARENA_NEW(task->arena, call);
    struct caller *caller = ARENA_NEW(task->arena, caller);
    bool changed;
    int rc;

    /* The rights and the model may have changed since the answer began. */
    rc = project_epoch_recheck(task, user->project, &changed);
    if (rc == 0) {
        project_hold(task->arena, user->project);
        rc = project_rights(task, user->project, user->user_id, user->key_id, &caller->rights);
    }
    caller->kind = user->key_id ? CALLER_KEY : CALLER_USER;
    caller->user_id = user->user_id;
    caller->key_id = user->key_id;
    *call = (struct tool_call){.task = task, .caller = caller};
    call->ctx = (struct records_ctx){.task = task,
                                     .directory = gateway_directory(),
                                     .project = user->project,
                                     .db = &user->project->db,
                                     .model = user->project->model,
                                     .caller = caller};
    strbuf_init(&call->out, task->arena, AI_TOOL_BYTES);
    if (rc == RIGHTS_NOT_FOUND || (rc == 0 && !caller->rights->active))
        rc = ai_tool_refuse(call, PROBLEM_UNAUTHORIZED, STR("The user no longer has any rights."));
    else if (rc > 0)
        rc = ai_tool_refuse(call, PROBLEM_DEPENDENCY_UNAVAILABLE, STR("Try again."));
    else if (rc == 0)
        rc = tool_run(call, name, arguments);
    *ret_result =
        (struct ai_tool_result){strbuf_view(&call->out), caller, call->needs_confirmation};
    return rc;
}
