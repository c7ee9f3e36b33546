/* One run of an operation. */
#include "integrations/use.h"

#include <stdarg.h>

#include "base/clock.h"
#include "integrations_use_sql.h"
#include "json/jr_off_thread.h"
#include "loop/work.h"

#define TIMEOUT_DEFAULT_SECONDS 10
#define REDIRECTS_MAX           3
#define TIMEOUT_MIN_MS          50
#define SHOWN_BYTES             1000 /* of a URL in the log of calls */
#define SECRETS_INLINE_MAX      20   /* masked on the loop; more secrets are masked on a thread */

static int use_fail(struct task *task,
                    struct integration_use *use,
                    enum problem problem,
                    const char *format,
                    ...) PRINTF_LIKE(4, 5);

static int use_fail(
    struct task *task, struct integration_use *use, enum problem problem, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    use->error = (struct connection_error){problem, arena_vprintf(task->arena, format, args)};
    va_end(args);
    return INTEGRATION_FAILED;
}

/* --- preparation --- */

int integration_load(struct task *task, struct integration_use *use, struct str *ret_operation)
{
    struct rows rows;

    TRY(db_query(task,
                 &use->project->db,
                 SQL_USE_INTEGRATION(.operation = use->operation,
                                     .id = use->integration_id,
                                     .name = use->integration),
                 &rows));
    if (rows.count == 0)
        return use_fail(task, use, PROBLEM_NOT_FOUND, "There is no such integration.");
    const struct sql_use_integration_row row = sql_use_integration_row(task->arena, &rows, 0);
    use->source =
        (struct integration_source){.id = row.id, .name = row.name, .base_url = row.base_url};
    if (row.operation.ptr == NULL)
        return use_fail(
            task, use, PROBLEM_NOT_FOUND, "The integration has no operation of this name.");
    *ret_operation = row.operation;
    return connection_source_read(
        task, use->project, &use->source, row.auth, row.sealed, row.client_bound);
}

static int use_build(struct task *task, struct integration_use *use)
{
    struct schema_errors *errors = ARENA_NEW(task->arena, errors);
    int rc = 0;

    if (!fill_values_read(task->arena, &use->parsed_operation, use->params, &use->values, errors))
        rc = INTEGRATION_FAILED;
    if (rc == 0)
        rc =
            outgoing_build(task->arena, use->source.base_url, &use->values, &use->outgoing, errors);
    if (rc == INTEGRATION_TOO_LARGE) {
        schema_error_add(task->arena,
                         errors,
                         STR("params"),
                         PROBLEM_TOO_LONG,
                         "the request would be too large: send shorter values");
        rc = INTEGRATION_FAILED;
    }
    if (rc != INTEGRATION_FAILED)
        return rc;
    use->findings = errors;
    return use_fail(task,
                    use,
                    PROBLEM_VALIDATION_FAILED,
                    "%.*s: %.*s",
                    STR_ARG(errors->items[0].field),
                    STR_ARG(errors->items[0].message));
}

struct build_job {
    struct task *task; /* only its arena is used */
    struct integration_use *use;
    struct str operation;
    int rc;
};

static void build_job_run(void *arg)
{
    struct build_job *building = arg;
    struct integration_use *use = building->use;

    building->rc = integration_operation_read(
        building->task->arena, building->operation, &use->parsed_operation);
    if (building->rc == 0)
        building->rc = use_build(building->task, use);
}

/* co: Builds the request of a stored operation; on a thread if the operation or use->params is
 * large. An operation may have thousands of expressions, a parameter a megabyte. */
AWAITS static int
use_build_off_thread(struct task *task, struct integration_use *use, struct str operation)
{
    struct build_job building = {.task = task, .use = use, .operation = operation};

    if (operation.len > JR_INLINE_BYTES || jr_is_large(use->params))
        work_off_thread(task, build_job_run, &building);
    else
        build_job_run(&building);
    return building.rc;
}

int integration_prepare(struct task *task, struct integration_use *use)
{
    int64_t user_id = use->job_id && !use->connection_id ? 0 : use->caller->user_id;
    struct str operation = STR_NONE;

    TRY(integration_load(task, use, &operation));
    TRY(use_build_off_thread(task, use, operation));
    if (use->traceparent.len)
        outgoing_add_header(&use->outgoing, "traceparent", use->traceparent);
    /* Uses the message of a closed port, so that callers cannot probe private addresses. */
    if (fetch_url_check(use->outgoing.request.url) == FETCH_REFUSED)
        return use_fail(task,
                        use,
                        PROBLEM_UNREACHABLE,
                        "The address did not answer in time, or is not allowed.");
    TRY(connection_choose(task,
                          use->project,
                          &use->source,
                          user_id,
                          use->connection_id,
                          &use->connection,
                          &use->error));
    return connection_token_ensure(task, use->project, &use->source, &use->connection, &use->error);
}

/* --- masking --- */

struct mask_job {
    struct arena *arena;
    const struct secret_values *values;
    json_t *shown;
};

static void mask_job_run(void *arg)
{
    struct mask_job *hiding = arg;

    hiding->shown = secrets_mask(hiding->arena, hiding->values, hiding->shown);
}

int integration_mask(struct task *task, const struct integration_use *use, json_t **shown)
{
    struct mask_job hiding = {task->arena, NULL, *shown};
    struct secret_values *secrets;

    TRY(secrets_open_all(task, use->project, &secrets));
    hiding.values = secrets;
    if (secrets->count > SECRETS_INLINE_MAX)
        work_off_thread(task, mask_job_run, &hiding);
    else
        mask_job_run(&hiding);
    hiding.values = connection_secret_values(task->arena, &use->source, &use->connection);
    mask_job_run(&hiding);
    *shown = hiding.shown;
    return 0;
}

/* co: Returns the masked URL for the log of calls. */
AWAITS static int
use_masked_url(struct task *task, const struct integration_use *use, struct str *ret_url)
{
    struct str url = use->outgoing.masked_url;
    json_t *shown = jr_attach(task->arena, json_stringn(url.ptr, url.len));

    TRY(integration_mask(task, use, &shown));
    size_t len = json_string_length(shown);
    *ret_url = (struct str){json_string_value(shown), len < SHOWN_BYTES ? len : SHOWN_BYTES};
    return 0;
}

/* --- the call --- */

static const char *use_actor_kind(const struct integration_use *use)
{
    if (use->job_id)
        return "job";
    return use->caller->kind == CALLER_KEY ? "api_key" : "user";
}

AWAITS static int use_call_begin(struct task *task, struct integration_use *use)
{
    const struct caller *caller = use->caller;
    struct rows rows;
    struct str url;

    TRY(use_masked_url(task, use, &url));
    TRY(db_query(task,
                 &use->project->db,
                 SQL_CALL_BEGIN(.connection_id = some_id(use->connection.id),
                                .integration_id = use->source.id,
                                .operation = use->parsed_operation.name.value,
                                .owner_id = some_id(use->connection.user_id),
                                .actor_kind = str_from(use_actor_kind(use)),
                                .actor_id = some_id(caller->kind == CALLER_KEY ? caller->key_id
                                                                               : caller->user_id),
                                .job_id = some_id(use->job_id),
                                .user_id = some_id(caller->user_id),
                                .method = use->parsed_operation.method.value,
                                .url = url),
                 &rows));
    use->call_id = sql_call_begin_row(&rows, 0).id;
    return 0;
}

/* Logs the end of the call. If that fails, the call is shown without an end. */
AWAITS static void use_call_end(struct task *task, struct integration_use *use, int rc)
{
    bool answered = rc == 0;
    bool came = answered || use->error.problem == PROBLEM_UNREADABLE_ANSWER;

    use->duration_ms = clock_mono_ms() - use->started_ms;
    const struct db_call call = db_call(
        SQL_CALL_END(.status_code = some_id(came ? use->response.status : 0),
                     .code = answered ? STR_NONE : str_from(problem_code(use->error.problem)),
                     .tries = use->tries,
                     .response_bytes = came ? some_i64((int64_t)use->response.body.len) : NO_I64,
                     .duration_ms = use->duration_ms,
                     .id = use->call_id));
    if (rc >= 0 &&
        db_query(task, &use->project->db, call.sql, call.params, call.param_count, NULL) != 0)
        log_debug("integrations.call_unended", L_I64("call", use->call_id));
}

static int fetch_failed(struct task *task, struct integration_use *use, int rc)
{
    switch (rc) {
    case FETCH_TOO_LARGE:
        return use_fail(task,
                        use,
                        PROBLEM_RESPONSE_TOO_LARGE,
                        "The answer is larger than %d bytes.",
                        FETCH_DEFAULT_RESPONSE_BYTES);
    case FETCH_BAD_URL:
        return use_fail(task, use, PROBLEM_BAD_URL, "The address cannot be used.");
    case FETCH_BAD_HEADER:
        return use_fail(task,
                        use,
                        PROBLEM_BAD_HEADER,
                        "A header cannot be sent: line breaks and framing headers are refused.");
    case FETCH_BUSY:
        return use_fail(task, use, PROBLEM_BUSY, "Too many requests wait to be sent.");
    default:
        return use_fail(task,
                        use,
                        PROBLEM_UNREACHABLE,
                        "The address did not answer in time, or is not allowed.");
    }
}

static int64_t use_time_left(const struct integration_use *use)
{
    int64_t seconds = use->parsed_operation.timeout_seconds.value
                          ? use->parsed_operation.timeout_seconds.value
                          : TIMEOUT_DEFAULT_SECONDS;
    int64_t own = use->started_ms + seconds * 1000 - clock_mono_ms();
    int64_t given = use->deadline_ms ? use->deadline_ms - clock_mono_ms() : own;

    return given < own ? given : own;
}

/* co: Sends one request to `url`; STR_NONE = the operation's own address. */
AWAITS static int request_send(struct task *task, struct integration_use *use, struct str url)
{
    const struct outgoing_credentials credentials =
        connection_credentials(&use->source, &use->connection);
    struct fetch_request request =
        outgoing_add_credentials(task->arena, &use->outgoing, &credentials, url);

    request.once = true;
    request.purpose = FETCH_INTEGRATION;
    request.timeout_ms = use_time_left(use);
    request.budget = &use->room;
    fetch_budget_release(&use->room);
    if (request.timeout_ms < TIMEOUT_MIN_MS)
        return fetch_failed(task, use, FETCH_TIMEOUT);
    use->tries++;
    int rc = fetch(task, &request, &use->response);
    return rc > 0 ? fetch_failed(task, use, rc) : rc;
}

/* Returns the address of a redirect that may be followed; STR_NONE = use->response is the final
 * answer. */
static struct str
redirect_address(struct task *task, const struct integration_use *use, struct str from)
{
    static const long statuses[] = {301, 302, 303, 307, 308};
    struct str method = use->parsed_operation.method.value;

    if (!use->parsed_operation.follow_redirects.value ||
        (!str_is(method, "GET") && !str_is(method, "HEAD")))
        return STR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (use->response.status == statuses[i])
            return outgoing_redirect(
                task->arena, from, fetch_response_header(&use->response, "location"));
    return STR_NONE;
}

AWAITS static int request_send_redirected(struct task *task, struct integration_use *use)
{
    struct str url = STR_NONE;

    TRY(request_send(task, use, url));
    for (int i = 0; i < REDIRECTS_MAX; i++) {
        struct str next = redirect_address(task, use, url.ptr ? url : use->outgoing.request.url);
        if (next.ptr == NULL)
            return 0;
        url = next;
        TRY(request_send(task, use, url));
    }
    return 0;
}

static bool has_tokens(const struct integration_use *use)
{
    return use->connection.id && (use->connection.scheme == SCHEME_OAUTH2_CLIENT ||
                                  use->connection.scheme == SCHEME_OAUTH2_CODE);
}

/* co: Sends the request; after a 401 for an OAuth 2 token, once more with a new token. */
AWAITS static int request_send_authorized(struct task *task, struct integration_use *use)
{
    TRY(request_send_redirected(task, use));
    if (use->response.status != 401 || !has_tokens(use))
        return 0;
    TRY(connection_token_refused(task, use->project, &use->connection));
    TRY(connection_token_ensure(task, use->project, &use->source, &use->connection, &use->error));
    return request_send_redirected(task, use);
}

/* co: Reads the answer's text. For an answer other than 2xx the status suffices, so that a text
 * that cannot be read is no error. */
AWAITS static int use_read_text(struct task *task, struct integration_use *use)
{
    struct str reason;

    int rc = answer_text_read(task, &use->response, &use->answer, &reason);
    if (rc == 0 || !integration_has_succeeded(use))
        return 0;
    if (rc == ANSWER_TOO_LARGE)
        return fetch_failed(task, use, FETCH_TOO_LARGE);
    return use_fail(
        task, use, PROBLEM_UNREADABLE_ANSWER, "The answer cannot be read: %.*s.", STR_ARG(reason));
}

int integration_send(struct task *task, struct integration_use *use)
{
    use->started_ms = clock_mono_ms();
    TRY(use_call_begin(task, use));
    int rc = request_send_authorized(task, use);
    if (rc == 0)
        rc = use_read_text(task, use);
    if (rc > 0 && rc != INTEGRATION_FAILED)
        use_fail(task,
                 use,
                 PROBLEM_DEPENDENCY_UNAVAILABLE,
                 "The database cannot be reached; try again.");
    use_call_end(task, use, rc);
    return rc;
}

/* --- the answer --- */

/* Returns the credentials, and the values of parameters that are declared secret. */
static struct secret_values *use_secret_values(struct arena *arena,
                                               const struct integration_use *use)
{
    const struct integration_param *params = use->parsed_operation.params.items;
    struct secret_values *values = connection_secret_values(arena, &use->source, &use->connection);
    size_t most = values->count + use->parsed_operation.params.count + 1;
    struct str *items = ARENA_ARRAY(arena, items, most);

    if (values->count)
        memcpy(items, values->values, values->count * sizeof(*items));
    for (size_t i = 0; i < use->parsed_operation.params.count; i++)
        if (params[i].secret.value && use->values.items[i] != NULL)
            items[values->count++] = fill_text_of(arena, use->values.items[i]);
    values->values = items;
    values->used = ARENA_ARRAY(arena, values->used, most);
    return values;
}

struct answer_job {
    struct task *task; /* only its arena is used */
    struct integration_use *use;
    json_t *data;
    int rc;
};

static void answer_job_run(void *arg)
{
    struct answer_job *taking = arg;
    struct arena *arena = taking->task->arena;
    struct integration_use *use = taking->use;
    const struct integration_response *response = use->parsed_operation.response.value;
    const struct secret_values *masked = use_secret_values(arena, use);
    struct str reason;

    if (response != NULL && integration_has_succeeded(use)) {
        int rc = answer_map(arena, response, taking->data, &taking->data, &reason);
        if (rc != 0) {
            taking->rc = use_fail(taking->task,
                                  use,
                                  PROBLEM_RESULTS_PATH,
                                  "The answer has nothing at \"%.*s\": %.*s",
                                  STR_ARG(response->results_path.value),
                                  STR_ARG(reason));
            return;
        }
    }
    taking->data = secrets_mask(arena, masked, taking->data);
    use->headers = secrets_mask(arena, masked, answer_headers(arena, &use->response));
}

/* Handles large answers on a thread: a map may read 100 members of each of 10,000 items. */
int integration_read_answer(struct task *task, struct integration_use *use, json_t **ret_data)
{
    struct answer_job taking = {.task = task, .use = use, .data = answer_read(task, &use->answer)};

    if (jr_is_large(taking.data) || jr_is_large(use->params))
        work_off_thread(task, answer_job_run, &taking);
    else
        answer_job_run(&taking);
    *ret_data = taking.data;
    return taking.rc;
}
