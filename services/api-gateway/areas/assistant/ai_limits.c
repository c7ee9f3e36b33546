/* The assistant's limits, which are concurrent answers and tokens a day, and its usage. */
#include "areas/assistant/ai.h"

#include "ai_limits_sql.h"
#include "base/clock.h"
#include "base/num.h"
#include "http/query.h"
#include "loop/background.h"

#define ANSWERS_MAX     32 /* concurrent answers of a process; no project takes all of them */
#define BYTES_PER_TOKEN 4
#define DAY_MS          86400000
#define SETTLE_MS       10000
#define SETTLE_RETRY_MS 300

/* --- slots of this process --- */

static struct shares ai_places;
static bool stopped;

static void ai_limits_start(struct directory *directory UNUSED, const struct app_conf *conf UNUSED)
{
    shares_init(&ai_places,
                &(struct shares_config){.name = "ai_answers",
                                        .limit = ANSWERS_MAX,
                                        .per_owner = SHARES_ANY,
                                        .leave_room = true});
    stopped = false;
}

static void ai_limits_settle(void)
{
    stopped = true;
}

const struct area_life ai_limits_life = {.start = ai_limits_start, .settle = ai_limits_settle};

bool ai_limits_are_stopped(void)
{
    return stopped;
}

void ai_slot_release(struct share *share)
{
    if (share)
        shares_release(&ai_places, share, 1);
}

static void slot_hold_end(void *arg)
{
    ai_slot_release(ai_slot_detach(arg));
}

struct share *ai_slot_detach(struct ai_slot_hold *hold)
{
    struct share *share = hold->slot;

    hold->slot = NULL;
    return share;
}

static int limits_refuse(struct req *r, const char *detail)
{
    resp_header(r, "Retry-After", STR("5"));
    return fail(r, PROBLEM_RATE_LIMITED, "%s", detail);
}

int ai_slot_take(struct req *r, struct ai_slot_hold **ret_hold)
{
    struct ai_slot_hold *hold = ARENA_NEW(r->task.arena, hold);

    if (shares_try(&ai_places, share_owner_of(&r->task), 1, &hold->slot) != 0)
        return limits_refuse(r, "Too many answers are being made by this process; try again.");
    arena_defer(r->task.arena, slot_hold_end, hold);
    *ret_hold = hold;
    return 0;
}

/* --- concurrent answers of all gateways --- */

/* co: Begins the lease of an answer. From here to the end of the transaction, questions of a
 * project run one after the other. */
AWAITS static int running_begin(struct req *r,
                                const struct ai_config *config,
                                struct str model,
                                int64_t tokens,
                                struct ai_reservation *ret_bill)
{
    struct rows rows;

    TRY(sql_exec(r, NULL, SQL_AI_RUNNING_LOCK()));
    TRY(sql_exec(r, NULL, SQL_AI_RUNNING_LAPSE()));
    TRY(sql_one(r,
                &rows,
                SQL_AI_RUNNING_ADD(.user_id = r->scope->caller->user_id,
                                   .model = model,
                                   .tokens = tokens)));
    const struct sql_ai_running_add_row row = sql_ai_running_add_row(&rows, 0);
    if (row.of_user >= config->user_answers)
        return limits_refuse(r, "Too many answers are being made for this user; try again.");
    if (row.of_project >= config->project_answers)
        return limits_refuse(r, "Too many answers are being made for this project; try again.");
    ret_bill->running_id = row.id;
    return 0;
}

int ai_running_renew(struct task *task, struct project *project, int64_t running)
{
    return db_query(task, &project->db, SQL_AI_RUNNING_RENEW(.id = running), NULL);
}

/* --- a day's tokens --- */

static int64_t seconds_to_midnight(void)
{
    return (DAY_MS - clock_wall_ms() % DAY_MS + 999) / 1000;
}

static int usage_refuse(struct req *r, const char *whose, int64_t limit)
{
    resp_header_printf(r, "Retry-After", "%lld", (long long)seconds_to_midnight());
    return fail(r,
                PROBLEM_RATE_LIMITED,
                "The %s has used its %lld tokens for today (UTC).",
                whose,
                (long long)limit);
}

int ai_usage_reserve(struct req *r,
                     const struct ai_config *config,
                     struct str model,
                     size_t prompt_bytes,
                     struct ai_reservation *ret_bill)
{
    int64_t user_id = r->scope->caller->user_id;
    int64_t tokens = (int64_t)(prompt_bytes / BYTES_PER_TOKEN) + config->max_output_tokens;
    struct rows rows;

    *ret_bill = (struct ai_reservation){0};
    TRY(running_begin(r, config, model, tokens, ret_bill));
    TRY(sql_one(
        r, &rows, SQL_AI_USAGE_RESERVE(.user_id = user_id, .model = model, .tokens = tokens)));
    ret_bill->project = r->scope->project->number;
    ret_bill->user_id = user_id;
    ret_bill->model = model;
    ret_bill->day = sql_ai_usage_reserve_row(&rows, 0).day;
    TRY(sql_one(r, &rows, SQL_AI_USAGE_TODAY(.user_id = user_id, .day = ret_bill->day)));
    const struct sql_ai_usage_today_row today = sql_ai_usage_today_row(&rows, 0);
    if (today.of_user - tokens >= config->user_daily_tokens)
        return usage_refuse(r, "user", config->user_daily_tokens);
    if (today.of_project - tokens >= config->project_daily_tokens)
        return usage_refuse(r, "project", config->project_daily_tokens);
    return 0;
}

struct db_call ai_usage_settle_call(struct arena *arena,
                                    const struct ai_reservation *bill,
                                    int64_t prompt,
                                    int64_t answer)
{
    return db_call_new(arena,
                       SQL_AI_USAGE_SETTLE(.prompt_tokens = prompt,
                                           .completion_tokens = answer,
                                           .day = bill->day,
                                           .user_id = bill->user_id,
                                           .model = bill->model,
                                           .running = bill->running_id));
}

struct settlement {
    struct ai_reservation bill;
    int64_t prompt, answer;
};

/* Tokens that cannot be booked stay reserved until the lease expires. Then they are released
 * without being counted. */
AWAITS static void settle_run(struct task *task, void *arg)
{
    const struct settlement *settling = arg;
    const struct ai_reservation *bill = &settling->bill;
    struct project *project;
    int rc;

    task->project = bill->project;
    do {
        rc = project_find_number(task, gateway_directory(), bill->project, &project);
        if (rc == 0) {
            struct db_call call =
                ai_usage_settle_call(task->arena, bill, settling->prompt, settling->answer);
            rc = db_batch(task, &project->db, &call, 1, NULL);
        }
    } while (rc != 0 && rc != PROJECT_NOT_FOUND && task_sleep(task, SETTLE_RETRY_MS) == 0);
    if (rc != 0)
        log_debug("ai.unsettled", L_I64("project", bill->project), L_RESULT("rc", rc));
}

void ai_usage_settle_later(const struct ai_reservation *bill, int64_t prompt, int64_t answer)
{
    if (stopped)
        return;
    struct background *background = background_new(SETTLE_MS);
    struct arena *arena = background_arena(background);
    struct settlement *settling = ARENA_NEW(arena, settling);
    *settling = (struct settlement){*bill, prompt, answer};
    settling->bill.model = arena_dup(arena, bill->model);
    settling->bill.day = arena_dup(arena, bill->day);
    background_start(background, settle_run, settling);
}

/* --- usage --- */

static const struct field usage_fields[] = {
    {.name = "day", .type = FIELD_STR, .required = true, .format = "date", .doc = "UTC"},
    {.name = "user_id", .type = FIELD_I64, .required = true},
    {.name = "model", .type = FIELD_STR, .required = true},
    {.name = "requests", .type = FIELD_I64, .required = true},
    {.name = "reserved_tokens",
     .type = FIELD_I64,
     .required = true,
     .doc =
         "Tokens reserved for answers that are being made. The tokens of an answer whose process "
         "died are released by the project's first question after 30 seconds"},
    {.name = "prompt_tokens", .type = FIELD_I64, .required = true},
    {.name = "completion_tokens", .type = FIELD_I64, .required = true},
};
static const struct schema usage_schema = SCHEMA_OUT("AiUsage", usage_fields);

static const struct query_param usage_query[] = {
    PAGE_QUERY,
    {.name = "user_id", .type = FIELD_I64, .doc = "Only the usage of this user"},
    {.name = "since",
     .type = FIELD_STR,
     .doc = "Only the usage since this day, such as 2026-01-31"},
    {0},
};

AWAITS static int ai_usage_list(struct req *r)
{
    const struct query *query;
    int64_t user_id = 0;

    TRY(req_query(r, &query));
    struct str since = query_get(query, "since");
    struct str user = query_get(query, "user_id");
    if (since.len > 0 && !clock_parse_date(since))
        return fail(r,
                    PROBLEM_INVALID_QUERY,
                    "Query parameter 'since' must be a date, such as 2026-01-31.");
    if (user.len > 0)
        (void)num_parse_i64(user, &user_id); /* req_query() has checked the number */
    return reply_page(r,
                      "-day",
                      SQL_AI_USAGE_LIST(.user_id = user.len > 0 ? some_i64(user_id) : NO_I64,
                                        .since = since.len > 0 ? since : STR_NONE));
}

static const struct route ai_limits_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = "/ai/usage",
        .id = "ai_usage_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_AI_CONFIG_READ,
        .query = usage_query,
        .success = {200, &usage_schema, .list = true},
        .run = ai_usage_list,
        .summary = "List the assistant's usage by day, user and model",
        .doc = "Tokens as the model server counts them. When the server gives no count, or a "
               "count that is impossible for the size of the texts, four bytes count as one token.",
    },
};
ROUTES(ai_limits, "Assistant");
