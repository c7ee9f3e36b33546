/*
 * Saving a workflow: merges the request with the stored workflow, checks the result as a whole and
 * writes the workflow with its version, its listeners and its next tick, in one transaction. The
 * transaction holds the lock of the model: entities that the workflow names cannot be deleted
 * before the commit, and saves of one project run one after the other.
 */
#include <errno.h>

#include "areas/workflows/workflows.h"
#include "base/timezone.h"
#include "ddl/model_change.h"
#include "items/items.h"
#include "json/jr.h"
#include "workflow/definition.h"
#include "workflow_stops_sql.h"
#include "workflows_sql.h"

#define WORKFLOWS_MAX 1000

struct save_request {
    const struct workflow_in *in;
    int64_t id; /* 0 = new */
    struct items_match match;
    int64_t saved_id;
    int64_t fire_ms; /* next tick of the saved workflow, 0 = none */
};

/* A workflow that is being checked and written. */
struct workflow_draft {
    struct definition definition;
    bool has_definition; /* the request has trigger or steps */
    bool changes_editor; /* steps, start or trigger change, so the caller becomes the editor */
    int64_t entity_id;   /* 0 = none */
    int64_t fire_ms;
    struct str doc;
};

/* The stored workflow. */
struct stored_workflow {
    struct sql_workflow_lock_row row;
    bool is_found; /* false = the workflow is new */
    json_t *doc;   /* the document before definition_merge(); NULL = new */
};

/* --- the document: the request's members, else the stored members --- */

static void save_put(json_t *doc, const char *member, json_t *value)
{
    (void)json_object_set_new(doc, member, value);
}

static json_t *string_new(struct str value)
{
    return json_stringn(value.ptr, value.len);
}

/* Parses the stored document and gives the trigger's entity its current name. */
static int stored_doc(struct req *r, const struct stored_workflow *stored, json_t **ret_doc)
{
    struct jr_error error;

    if (jr_parse_stored(r->task.arena, stored->row.doc, ret_doc, &error) != 0)
        return fail_internal(r, -EBADMSG);
    if (stored->row.entity.ptr)
        save_put(json_object_get(*ret_doc, "trigger"), "entity", string_new(stored->row.entity));
    return 0;
}

static json_t *steps_of(const struct in_list *list)
{
    json_t *const *items = list->items;
    json_t *steps = json_array();

    for (size_t i = 0; i < list->count; i++)
        (void)json_array_append(steps, items[i]);
    return steps;
}

/* Removes start_step when the new steps do not have it. */
static void remove_missing_start(json_t *doc)
{
    struct str start = jr_str(doc, "start_step");
    const json_t *steps = json_object_get(doc, "steps");

    for (size_t i = 0; i < json_array_size(steps); i++) {
        if (str_eq(jr_str(json_array_get(steps, i), "key"), start))
            return;
    }
    (void)json_object_del(doc, "start_step");
}

static int definition_merge(struct req *r,
                            const struct workflow_in *in,
                            struct stored_workflow *stored,
                            json_t **ret_doc)
{
    json_t *doc = NULL;
    bool enabled = !stored->is_found || stored->row.enabled;

    if (stored->is_found) {
        TRY(stored_doc(r, stored, &doc));
        /* A shallow copy: the members are replaced below, never changed. */
        stored->doc = jr_attach(r->task.arena, json_copy(doc));
    } else {
        doc = jr_attach(r->task.arena, json_object());
    }
    if (in->name.set)
        save_put(doc, "name", string_new(in->name.value));
    save_put(doc, "enabled", json_boolean(in->enabled.set ? in->enabled.value : enabled));
    if (in->trigger.set)
        save_put(doc, "trigger", json_incref(in->trigger.value));
    if (in->start_step.set && in->start_step.null)
        (void)json_object_del(doc, "start_step");
    else if (in->start_step.set)
        save_put(doc, "start_step", string_new(in->start_step.value));
    if (in->steps.set)
        save_put(doc, "steps", steps_of(&in->steps));
    if (in->steps.set && !in->start_step.set)
        remove_missing_start(doc);
    *ret_doc = doc;
    return 0;
}

/* --- checks --- */

/* Whether two lists have the same steps; the steps' names may differ. */
static bool has_same_steps(const json_t *was, const json_t *is)
{
    size_t count = json_array_size(is);

    if (json_array_size(was) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        json_t *left = json_copy(json_array_get(was, i));
        json_t *right = json_copy(json_array_get(is, i));
        (void)json_object_del(left, "name");
        (void)json_object_del(right, "name");
        bool same = json_equal(left, right);
        json_decref(left);
        json_decref(right);
        if (!same)
            return false;
    }
    return true;
}

static bool has_same_member(const json_t *was, const json_t *is, const char *member)
{
    const json_t *value = json_object_get(is, member);

    return value == json_object_get(was, member) || json_equal(json_object_get(was, member), value);
}

/* Whether the save changes what the workflow does, or when. Steps run with the rights of the
 * workflow's editor, which must be the rights of the user or key that made this change. Both
 * documents have all members. */
static bool changes_behavior(const struct workflow_in *in,
                             const struct stored_workflow *stored,
                             const json_t *doc)
{
    if (!stored->is_found)
        return true;
    if (!in->trigger.set && !in->steps.set && !in->start_step.set)
        return false;
    return !has_same_member(stored->doc, doc, "trigger") ||
           !has_same_member(stored->doc, doc, "start_step") ||
           !has_same_steps(json_object_get(stored->doc, "steps"), json_object_get(doc, "steps"));
}

static bool secret_is_known(const struct rows *rows, struct str name)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (str_eq(sql_workflow_secrets_row(rows, i).name, name))
            return true;
    }
    return false;
}

static int fail_secret(struct req *r, const struct definition *definition, int step)
{
    return fail(r,
                PROBLEM_FORBIDDEN,
                "steps[%d] (%.*s).params names a secret: saving this step requires the permission "
                "svc_secrets:read.",
                step,
                STR_ARG(definition->steps[step].key));
}

AWAITS static int
check_secrets(struct req *r, const struct workflow_draft *draft, struct schema_errors *errors)
{
    const struct definition *definition = &draft->definition;
    struct arena *arena = r->task.arena;
    struct definition_secret *secrets;
    size_t count = definition_secrets(arena, definition, &secrets);
    struct str *names = ARENA_ARRAY(arena, names, count + 1);
    struct rows known;

    if (!count)
        return 0;
    /* Without this permission the caller must not learn which secrets exist. */
    if (!caller_can(r->scope->caller, PERM_SVC_SECRETS_READ))
        return draft->changes_editor ? fail_secret(r, definition, secrets[0].step) : 0;
    for (size_t i = 0; i < count; i++)
        names[i] = secrets[i].name;
    TRY(sql_all(r, &known, SQL_WORKFLOW_SECRETS(.names = sql_strs(names, count))));
    for (size_t i = 0; i < count; i++) {
        if (secret_is_known(&known, names[i]))
            continue;
        schema_error_add(arena,
                         errors,
                         arena_printf(arena,
                                      "steps[%d] (%.*s).params",
                                      secrets[i].step,
                                      STR_ARG(definition->steps[secrets[i].step].key)),
                         PROBLEM_NOT_FOUND,
                         "there is no secret %.*s",
                         STR_ARG(names[i]));
    }
    return 0;
}

/* co: Checks the merged workflow. Skips the checks against the model, secrets and integrations when
 * the workflow is disabled and the request has neither trigger nor steps: a workflow whose entities
 * or secrets were deleted can still be disabled, and renamed while it is disabled. */
AWAITS static int save_check(struct req *r,
                             const struct workflow_in *in,
                             const struct stored_workflow *stored,
                             json_t *doc,
                             struct workflow_draft *draft)
{
    struct arena *arena = r->task.arena;
    struct schema_errors *errors = ARENA_NEW(arena, errors);
    const struct entity *entity;

    if (!definition_parse(arena, doc, &draft->definition, errors))
        return fail_fields(r, errors);
    doc = definition_doc(arena, &draft->definition);
    draft->changes_editor = changes_behavior(in, stored, doc);
    if (draft->has_definition || draft->definition.enabled) {
        (void)definition_check_model(arena, &draft->definition, r->scope->model, errors);
        TRY(check_secrets(r, draft, errors));
        TRY(workflow_check_integrations(r, &draft->definition, errors));
        if (errors->count)
            return fail_fields(r, errors);
    }
    if (definition_has_record_event(&draft->definition)) {
        entity = model_entity(r->scope->model, draft->definition.entity);
        draft->entity_id = entity ? entity->id : stored->is_found ? stored->row.entity_id.value : 0;
    }
    (void)json_object_del(doc, "enabled");
    draft->doc = jr_print(arena, doc);
    if (draft->doc.len > WORKFLOW_BYTES_MAX)
        return fail(r,
                    PROBLEM_PAYLOAD_TOO_LARGE,
                    "A workflow may have at most %d bytes.",
                    WORKFLOW_BYTES_MAX);
    return 0;
}

/* --- ticks --- */

/* Whether the stored next tick stays valid: the schedule is the same, and the tick is at most
 * TICK_LATE_MS late. Thus a save does not lose a tick that is due but not yet taken. A later tick
 * is dropped: a workflow does not run ticks that an earlier version of the workflow missed. */
static bool has_same_schedule(const struct stored_workflow *stored,
                              const struct definition *definition,
                              int64_t now_ms)
{
    return stored->is_found && stored->row.enabled && stored->row.next_fire_at &&
           stored->row.next_fire_at >= now_ms - TICK_LATE_MS &&
           str_eq(stored->row.cron, definition->cron_text) &&
           str_eq(stored->row.timezone, definition->timezone);
}

/* co: Finds the next tick by the database's clock, which runners use as well. */
AWAITS static int
compute_next_tick(struct req *r, const struct stored_workflow *stored, struct workflow_draft *draft)
{
    const struct definition *definition = &draft->definition;
    struct rows now;
    int64_t now_ms;
    int64_t at_ms;

    draft->fire_ms = 0;
    if (definition->kind != TRIGGER_TIMED || !definition->enabled)
        return 0;
    TRY(sql_one(r, &now, SQL_WORKFLOW_NOW()));
    now_ms = sql_workflow_now_row(&now, 0).at;
    if (has_same_schedule(stored, definition, now_ms)) {
        draft->fire_ms = stored->row.next_fire_at;
        return 0;
    }
    at_ms = cron_next(&definition->cron, timezone_find(definition->timezone), now_ms);
    if (at_ms < 0)
        return fail_field(
            r, "trigger.cron", PROBLEM_VALIDATION_FAILED, "matches no time within eight years");
    draft->fire_ms = at_ms;
    return 0;
}

/* co: Makes runners poll the project, at the latest when its first tick is due. Called before the
 * commit, so that a crash after the commit leaves no tick that no runner waits for. Called again
 * after the commit, because a runner that polled before the commit did not see the tick. */
AWAITS static int notify_runners(struct req *r, int64_t fire_ms)
{
    return db_query(
        &r->task,
        directory_control(gateway_directory()),
        SQL_WORKFLOW_PROJECT_DUE(.number = r->scope->project->number, .next_fire_at = fire_ms),
        NULL);
}

/* --- rows --- */

static struct str event_of(const struct definition *definition)
{
    return definition->kind == TRIGGER_EVENT ? str_from(event_name(definition->event)) : STR_NONE;
}

/* Returns the button group that `entity` names for an event without records; STR_NONE = any group.
 */
static struct str category_of(const struct definition *definition)
{
    return definition->entity.len && !definition_has_record_event(definition) ? definition->entity
                                                                              : STR_NONE;
}

static struct str filter_of(struct arena *arena, const struct definition *definition)
{
    return definition->filter ? jr_print(arena, definition->filter) : STR_NONE;
}

static int fail_route(struct req *r)
{
    return fail_unique_violation(r,
                                 "trigger.route",
                                 "is the route of another workflow, which may be disabled",
                                 "Another workflow has this route.");
}

/* co: Writes the version and replaces the events that the workflow listens to. */
AWAITS static int write_version_and_listeners(struct req *r,
                                              const struct workflow_draft *draft,
                                              const struct sql_saved_workflow_row *saved)
{
    const struct definition *definition = &draft->definition;
    bool listens = definition_has_record_event(definition) && definition->enabled;
    struct db_call calls[] = {
        db_call(SQL_WORKFLOW_VERSION_ADD(.workflow_id = saved->id,
                                         .version = saved->version,
                                         .doc = draft->doc,
                                         .editor_id = saved->editor_id,
                                         .editor_key_id = saved->editor_key_id)),
        db_call(SQL_WORKFLOW_UNLISTEN(.workflow_id = saved->id)),
        db_call(SQL_WORKFLOW_LISTEN(.workflow_id = saved->id,
                                    .entity_id = draft->entity_id,
                                    .event = event_of(definition))),
    };

    return sql_batch(r, calls, listens ? 3 : 2);
}

AWAITS static int
workflow_put(struct req *r, const struct workflow_draft *draft, int64_t id, struct rows *ret_row)
{
    const struct definition *definition = &draft->definition;

    return db_query(&r->task,
                    r->scope->db,
                    id ? &SQL_WORKFLOW_SAVE : &SQL_WORKFLOW_ADD,
                    SQL_WORKFLOW_ARGS(.id = id,
                                      .name = definition->name,
                                      .enabled = definition->enabled,
                                      .trigger_kind = str_from(trigger_kind_name(definition->kind)),
                                      .event = event_of(definition),
                                      .entity_id = some_id(draft->entity_id),
                                      .category = category_of(definition),
                                      .filter = filter_of(r->task.arena, definition),
                                      .route = definition->route,
                                      .cron = definition->cron_text,
                                      .timezone = definition->timezone,
                                      .next_fire_at = draft->fire_ms,
                                      .adopts = draft->changes_editor,
                                      .editor_id = r->scope->caller->user_id,
                                      .editor_key_id = some_id(r->scope->caller->key_id)),
                    ret_row);
}

AWAITS static int
write_rows(struct req *r, const struct workflow_draft *draft, int64_t id, int64_t *ret_id)
{
    struct rows row;
    int rc = workflow_put(r, draft, id, &row);

    if (rc == DB_UNIQUE)
        return fail_route(r);
    TRY(sql_check(r, rc));
    const struct sql_saved_workflow_row saved = sql_saved_workflow_row(&row, 0);
    *ret_id = saved.id;
    return write_version_and_listeners(r, draft, &saved);
}

/* --- the change --- */

int workflow_check_version(struct req *r, const struct items_match *match, int64_t version)
{
    for (size_t i = 0; i < match->count; i++) {
        if (match->versions[i] == version)
            return 0;
    }
    return match->count ? fail(r,
                               PROBLEM_PRECONDITION_FAILED,
                               "The workflow was saved after the version in If-Match.")
                        : 0;
}

AWAITS static int
read_stored(struct req *r, const struct save_request *save, struct stored_workflow *stored)
{
    struct rows rows;

    *stored = (struct stored_workflow){.is_found = save->id != 0};
    if (stored->is_found) {
        TRY(sql_one(r, &rows, SQL_WORKFLOW_LOCK(.id = save->id)));
        stored->row = sql_workflow_lock_row(&rows, 0);
        return workflow_check_version(r, &save->match, stored->row.version);
    }
    TRY(sql_one(r, &rows, SQL_WORKFLOWS_COUNT()));
    if (sql_workflows_count_row(&rows, 0).workflows >= WORKFLOWS_MAX)
        return fail(r, PROBLEM_CONFLICT, "A project has at most %d workflows.", WORKFLOWS_MAX);
    return 0;
}

/* co: Stops the queued jobs of a workflow that the save disables; ends an unfinished stop when the
 * save enables the workflow. */
AWAITS static int update_stops(struct req *r,
                               const struct save_request *save,
                               const struct stored_workflow *stored,
                               const struct workflow_draft *draft)
{
    struct db_call stop[] = {
        db_call(SQL_STOP_MARK(.workflow_id = save->saved_id, .deleted = false)),
        db_call(SQL_STOP_QUEUED(.workflow_id = save->saved_id, .deleted = false)),
    };
    struct db_call go = db_call(SQL_STOP_UNMARK(.workflow_id = save->saved_id));

    if (!stored->is_found || stored->row.enabled == draft->definition.enabled)
        return 0;
    return draft->definition.enabled ? sql_batch(r, &go, 1) : sql_batch(r, stop, ARRAY_LEN(stop));
}

AWAITS static int save_change(struct req *r, void *arg, struct model_audit *audit)
{
    struct save_request *save = arg;
    struct workflow_draft *draft = ARENA_NEW(r->task.arena, draft);
    struct stored_workflow stored;
    json_t *doc;

    draft->has_definition = save->in->trigger.set || save->in->steps.set;
    TRY(read_stored(r, save, &stored));
    TRY(definition_merge(r, save->in, &stored, &doc));
    TRY(save_check(r, save->in, &stored, doc, draft));
    TRY(compute_next_tick(r, &stored, draft));
    TRY(write_rows(r, draft, save->id, &save->saved_id));
    TRY(update_stops(r, save, &stored, draft));
    TRY(sql_check(r, notify_runners(r, draft->fire_ms)));
    save->fire_ms = draft->fire_ms;
    *audit = (struct model_audit){stored.is_found ? "workflows.update" : "workflows.create",
                                  "workflow",
                                  save->saved_id,
                                  STR_NONE};
    return 0;
}

int workflow_save(struct req *r, const struct workflow_in *in, int64_t id, int64_t *ret_id)
{
    struct save_request save = {.in = in, .id = id};

    if (id)
        TRY(items_if_match(r, &save.match));
    TRY(model_change(r, save_change, &save));
    if (save.fire_ms && notify_runners(r, save.fire_ms) < 0) /* the second call, see its comment */
        return -ECANCELED;
    *ret_id = save.saved_id;
    return 0;
}
