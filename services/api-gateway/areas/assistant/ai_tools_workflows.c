/*
 * Workflows that models propose. The tool only stores the proposal, as a waiting message of the
 * conversation. A request of the user starts the workflow, once, with the user's rights at that
 * time.
 */
#include "areas/assistant/ai_conversations.h"
#include "areas/assistant/ai_tools_private.h"

#include "ai_tools_workflows_sql.h"
#include "areas/workflows/workflows.h"
#include "job_start_sql.h"
#include "json/jr.h"
#include "workflow/jobs.h"

/* --- the model's side --- */

static bool caller_can_start(struct tool_call *call)
{
    if (caller_can(call->caller, PERM_SVC_WORKFLOWS_TRIGGER))
        return true;
    (void)ai_tool_refuse(call, PROBLEM_FORBIDDEN, STR("The user may not start workflows."));
    return false;
}

int ai_tool_list_workflows(struct tool_call *call)
{
    struct rows rows;
    struct jw w;

    if (!caller_can_start(call))
        return 0;
    TRY(db_query(call->task, call->ctx.db, SQL_AI_WORKFLOWS(), &rows));
    jw_init(&w, &call->out);
    jw_arr(&w);
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_ai_workflows_row row = sql_ai_workflows_row(&rows, i);
        jw_obj(&w);
        JW_I64(&w, "id", row.id);
        JW_STR(&w, "name", row.name);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    return ai_tool_check_size(call);
}

static void
proposal_put(struct jw *w, const char *status, int64_t id, struct str name, json_t *data)
{
    jw_obj(w);
    JW_CSTR(w, "status", status);
    JW_I64(w, "workflow_id", id);
    JW_STR(w, "name", name);
    jw_lit(w, "data");
    if (data)
        jw_json(w, data);
    else
        jw_null(w);
}

int ai_tool_propose_workflow(struct tool_call *call)
{
    int64_t id = jr_i64(call->arguments, "workflow_id", 0);
    struct rows rows;
    struct jw w;

    if (!caller_can_start(call))
        return 0;
    TRY(db_query(call->task, call->ctx.db, SQL_AI_WORKFLOW(.id = id), &rows));
    if (rows.count == 0)
        return ai_tool_refuse(call,
                              PROBLEM_NOT_FOUND,
                              STR("There is no workflow with this id and a manual trigger."));
    const struct sql_ai_workflow_row row = sql_ai_workflow_row(&rows, 0);
    if (!row.enabled)
        return ai_tool_refuse(call, PROBLEM_WORKFLOW_DISABLED, STR("The workflow is not enabled."));
    jw_init(&w, &call->out);
    proposal_put(&w,
                 "waits for the user's confirmation",
                 id,
                 row.name,
                 json_object_get(call->arguments, "data"));
    jw_obj_end(&w);
    call->needs_confirmation = !call->out.overflow;
    return ai_tool_check_size(call);
}

/* --- the user's side --- */

struct decision_in {
    struct in_bool run;
};

static const struct field decision_fields[] = {
    {.name = "run",
     FIELD_AT(struct decision_in, run),
     .type = FIELD_BOOL,
     .required = true,
     .doc = "true: start the workflow; false: decline it",
     .example = "true"},
};
static const struct schema decision_schema =
    SCHEMA("AiConfirmation", struct decision_in, decision_fields);

/* A waiting proposal, as the tool wrote it. */
struct proposal {
    int64_t conversation_id, message_id, workflow_id, job_id;
    struct str name;
    json_t *data;
};

/* co: Locks and reads the proposal, in the open transaction. 409 when it no longer waits. */
AWAITS static int proposal_take(struct req *r, struct proposal *proposal)
{
    struct jr_error error;
    struct rows rows;
    json_t *doc;

    TRY(sql_all(r,
                &rows,
                SQL_AI_MESSAGE_WAITING(.user_id = r->scope->caller->user_id,
                                       .id = proposal->message_id,
                                       .conversation_id = proposal->conversation_id)));
    if (rows.count == 0)
        return fail(
            r, PROBLEM_CONFLICT, "This message has no workflow that waits for confirmation.");
    struct str content = sql_ai_message_waiting_row(&rows, 0).content;
    if (jr_parse(r->task.arena, content, &doc, &error) != 0)
        return fail(
            r, PROBLEM_CONFLICT, "The proposed workflow cannot be read: ask the model again.");
    proposal->workflow_id = jr_i64(doc, "workflow_id", 0);
    proposal->name = jr_str(doc, "name");
    proposal->data = json_object_get(doc, "data");
    return 0;
}

/* co: Creates the job of the workflow, in the open transaction. */
AWAITS static int proposal_start(struct req *r, struct proposal *proposal)
{
    const struct caller *caller = r->scope->caller;
    struct job_start start = {
        .workflow_id = proposal->workflow_id,
        .data = json_is_null(proposal->data) ? STR_NONE : jr_print(r->task.arena, proposal->data),
        .actor_id = caller->user_id,
        .actor_key_id = caller->key_id,
        .queued_max = daemon_app()->conf->queued_jobs,
        .traceparent = gateway_traceparent(r),
    };
    struct db_call call = job_start_call(r->task.arena, &start);
    struct rows rows;

    TRY(sql_all(r, &rows, call.sql, call.params, call.param_count));
    if (rows.count == 0)
        return fail(r, PROBLEM_WORKFLOW_DISABLED, "The workflow was deleted, or is not enabled.");
    const struct opt_i64 job_id = sql_job_start_row(&rows, 0).job_id;
    if (!job_id.set)
        return fail_queue_full(r, start.queued_max);
    proposal->job_id = job_id.value;
    return 0;
}

AWAITS static int proposal_end(struct req *r, const struct proposal *proposal, bool run)
{
    struct strbuf content;
    struct jw w;

    strbuf_init(&content, r->task.arena, AI_TOOL_BYTES * 2);
    jw_init(&w, &content);
    proposal_put(
        &w, run ? "started" : "declined", proposal->workflow_id, proposal->name, proposal->data);
    if (run)
        JW_I64(&w, "job_id", proposal->job_id);
    jw_obj_end(&w);
    TRY(sql_exec(r,
                 NULL,
                 SQL_AI_MESSAGE_DECIDE(.status = run ? STR("complete") : STR("cancelled"),
                                       .content = strbuf_view(&content),
                                       .id = proposal->message_id)));
    struct str detail = arena_printf(r->task.arena,
                                     "{\"message_id\":%lld,\"job_id\":%lld}",
                                     (long long)proposal->message_id,
                                     (long long)proposal->job_id);
    return gateway_commit(r,
                          gateway_audit(r,
                                        run ? "ai.workflow.run" : "ai.workflow.decline",
                                        "workflow",
                                        proposal->workflow_id,
                                        detail));
}

AWAITS static int ai_messages_confirm(struct req *r)
{
    struct proposal proposal = {0};
    struct decision_in in;
    struct rows rows;

    TRY(req_json(r, &decision_schema, &in));
    TRY(ai_message_find(r, &proposal.conversation_id, &proposal.message_id, &rows));
    TRY(sql_begin(r));
    TRY(proposal_take(r, &proposal));
    if (in.run.value)
        TRY(proposal_start(r, &proposal));
    TRY(proposal_end(r, &proposal, in.run.value));
    if (proposal.job_id)
        jobs_notify_queued(gateway_directory(), r->scope->project, proposal.job_id);
    TRY(ai_message_find(r, &proposal.conversation_id, &proposal.message_id, &rows));
    return reply_row(r, 200, &rows);
}

static const struct route ai_workflows_routes[] = {
    {
        .method = HTTP_POST_M,
        .path = "/ai/conversations/{id}/messages/{messageId}/confirm",
        .id = "ai_messages_confirm",
        .auth = AUTH_USER,
        .perm = PERM_SVC_AI_CHAT_UPDATE,
        .perm_and = PERM_SVC_WORKFLOWS_TRIGGER,
        .body = &decision_schema,
        .success = {200, &ai_message_schema},
        .extra_statuses = {404, 409},
        .run = ai_messages_confirm,
        .guard = ai_message_guard,
        .summary = "Start the workflow that a model proposed, or decline it",
        .doc =
            "For a message whose status is waiting: its content names the workflow and the data. "
            "The workflow is started once, as if the user had started it; content then has the "
            "job_id.",
    },
};
ROUTES(ai_workflows, "Assistant");
