/* Catalog: numbers and names that clients rely on, and lookups that find all entries and nothing
 * else. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit.h"

#include "base/result.h"
#include "catalog/event.h"
#include "catalog/operator.h"
#include "catalog/perm.h"
#include "catalog/problem.h"
#include "catalog/status.h"

TEST(test_counts)
{
    int held[3] = {0, 0, 0};
    for (int i = 1; i < PERM_COUNT; i++)
        held[perm_info((enum perm)i)->holder]++;
    assert_int_equal(PERM_COUNT - 1, 92);
    assert_int_equal(held[PERM_STANDARD], 42);
    assert_int_equal(held[PERM_ADMINISTRATOR], 45);
    assert_int_equal(held[PERM_OPT_IN], 5);
}

TEST(test_find)
{
    for (int i = 1; i < PERM_COUNT; i++) {
        const struct perm_info *info = perm_info((enum perm)i);
        assert_int_equal(perm_find(str_from(info->name)), i);
        char name[80];
        snprintf(name, sizeof(name), "%s:%s", info->resource, info->action);
        assert_string_equal(name, info->name);
        assert_true(perm_action_find(str_from(info->action)) >= 0);
    }
    assert_int_equal(perm_find(STR("svc_users:read")), PERM_SVC_USERS_READ);
    static const struct str none[] = {
        STR_INIT(""),
        STR_INIT(":"),
        STR_INIT("svc_users"),
        STR_INIT("svc_users:"),
        STR_INIT("SVC_USERS:READ"),
        STR_INIT("svc_users:trigger"),
        STR_INIT("svc_users:read "),
        STR_INIT("svc_users:read\0"),
        STR_INIT("orders:read"),
    };
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_int_equal(perm_find(none[i]), PERM_NONE);
    assert_int_equal(perm_find(STR_NONE), PERM_NONE);
}

static void assert_holder(const char *name, enum perm_holder holder)
{
    enum perm perm = perm_find(str_from(name));
    assert_int_not_equal(perm, PERM_NONE);
    assert_int_equal(perm_info(perm)->holder, holder);
}

TEST(test_holders)
{
    assert_holder("svc_documentation:read", PERM_STANDARD);
    assert_holder("svc_workflows:trigger", PERM_STANDARD);
    assert_holder("svc_search:read", PERM_STANDARD);
    assert_holder("svc_realtime:read", PERM_STANDARD);
    assert_holder("svc_exports:create", PERM_STANDARD);
    assert_holder("svc_tenant_devices:create", PERM_STANDARD);
    assert_holder("svc_menus:delete", PERM_ADMINISTRATOR);
    assert_holder("svc_api_keys:update", PERM_ADMINISTRATOR);
    assert_holder("svc_payment_methods:delete", PERM_ADMINISTRATOR);
    assert_holder("svc_webhook_events:update", PERM_ADMINISTRATOR);
    assert_holder("svc_audit_log:read", PERM_ADMINISTRATOR);
    assert_holder("svc_groups:delete", PERM_OPT_IN);
    assert_holder("svc_group_data:read", PERM_OPT_IN);
    assert_int_equal(perm_find(STR("svc_payment_methods:update")), PERM_NONE);
    assert_int_equal(perm_find(STR("svc_payments:delete")), PERM_NONE);
}

TEST(test_sets)
{
    struct perm_set all = {{0, 0}};
    struct perm_set one = {{0, 0}};
    for (int i = 1; i < PERM_COUNT; i++) {
        assert_false(perm_set_has(&all, (enum perm)i));
        perm_set_add(&all, (enum perm)i);
        assert_true(perm_set_has(&all, (enum perm)i));
    }
    /* The set holds neither "none" nor permissions of entities. */
    struct perm_set full = {{UINT64_MAX, UINT64_MAX}};
    assert_false(perm_set_has(&full, PERM_NONE));
    assert_false(perm_set_has(&full, PERM_ENTITY_READ));
    assert_false(perm_set_has(&full, PERM_ENTITY_DELETE));
    perm_set_add(&one, PERM_SVC_GROUP_DATA_READ);
    perm_set_intersect(&all, &one);
    assert_true(perm_set_has(&all, PERM_SVC_GROUP_DATA_READ));
    assert_false(perm_set_has(&all, PERM_SVC_USERS_READ));
}

TEST(test_names)
{
    for (int action = ACT_READ; action <= ACT_TRIGGER; action++)
        assert_int_equal(perm_action_find(str_from(perm_action_name((enum perm_action)action))),
                         action);
    assert_int_equal(perm_action_find(STR("Read")), -1);
    assert_int_equal(perm_action_find(STR_NONE), -1);
    assert_string_equal(perm_holder_name(PERM_STANDARD), "standard");
    assert_string_equal(perm_holder_name(PERM_ADMINISTRATOR), "administrator");
    assert_string_equal(perm_holder_name(PERM_OPT_IN), "opt_in");
}

/* Codes that clients rely on, with their status. */
static const struct {
    const char *code;
    int status;
} promised[] = {
    {"invalid_json", 400},
    {"invalid_query", 400},
    {"unknown_field", 400},
    {"unknown_parameter", 400},
    {"validation_failed", 400},
    {"required", 400},
    {"read_only", 400},
    {"type_mismatch", 400},
    {"out_of_range", 400},
    {"too_long", 400},
    {"pattern", 400},
    {"unauthorized", 401},
    {"token_expired", 401},
    {"token_invalid", 401},
    {"session_expired", 401},
    {"invalid_credentials", 401},
    {"refresh_token_invalid", 401},
    {"refresh_token_reused", 401},
    {"email_not_confirmed", 403},
    {"user_suspended", 403},
    {"forbidden", 403},
    {"api_access_disabled", 403},
    {"admin_required", 403},
    {"not_found", 404},
    {"route_not_found", 404},
    {"method_not_allowed", 405},
    {"unique_violation", 409},
    {"foreign_key_violation", 409},
    {"conflict", 409},
    {"last_administrator", 409},
    {"precondition_failed", 412},
    {"payload_too_large", 413},
    {"unsupported_media_type", 415},
    {"unprocessable", 422},
    {"locked", 423},
    {"rate_limited", 429},
    {"internal", 500},
    {"dependency_unavailable", 503},
    {"timeout", 504},
};

TEST(test_problems)
{
    for (size_t i = 0; i < ARRAY_LEN(promised); i++)
        assert_int_equal(problem_info(problem_find(promised[i].code))->status, promised[i].status);
    size_t count = 0;
    for (enum problem i = PROBLEM_NONE + 1; i < PROBLEM_COUNT; i++) {
        const struct problem_info *it = problem_info(i);
        assert_int_equal(problem_find(it->code), i);
        assert_string_equal(problem_code(i), it->code);
        if (it->status == 0) {
            assert_null(it->title); /* a code that only occurs in the history of jobs */
            continue;
        }
        count++;
        assert_true(it->status >= 400 && it->status <= 599);
        assert_true(strlen(it->title) > 2);
        /* Every status has a reason phrase of its own. */
        assert_string_not_equal(problem_status_title(it->status), "Client error");
        assert_string_not_equal(problem_status_title(it->status), "Server error");
    }
    assert_true(count >= ARRAY_LEN(promised));
    assert_string_equal(problem_status_title(404), "Not Found");
    assert_string_equal(problem_status_title(499), "Client error");
    assert_string_equal(problem_status_title(599), "Server error");
}

TEST(test_no_problem)
{
    assert_int_equal(problem_find("no_such_code"), PROBLEM_NONE);
    assert_int_equal(problem_find(NULL), PROBLEM_NONE);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        (void)signal(SIGABRT, SIG_DFL);
        (void)problem_info(PROBLEM_NONE);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(test_operators)
{
    for (enum filter_op op = OP_EQ; op < OP_COUNT; op++)
        assert_int_equal(filter_op_find(str_from(filter_operator(op)->name)), op);
    for (enum condition_op op = COND_EQ; op < COND_COUNT; op++)
        assert_int_equal(condition_op_find(str_from(condition_operator(op)->name)), op);
    assert_int_equal(filter_op_find(STR("not_contains")), OP_COUNT);
    assert_int_equal(filter_op_find(STR("EQ")), OP_COUNT);
    assert_int_equal(condition_op_find(STR("null")), COND_COUNT);
    assert_int_equal(condition_op_find(STR_NONE), COND_COUNT);
    assert_string_equal(filter_op_names,
                        "eq, ne, gt, gte, lt, lte, in, nin, contains, icontains, starts_with, "
                        "ends_with, between, null");
    assert_string_equal(condition_op_names,
                        "eq, ne, gt, gte, lt, lte, in, nin, contains, not_contains, starts_with, "
                        "ends_with, empty, not_empty, exists, not_exists, between, "
                        "matches_any_of");
}

/* The documentation of an event's data names the permission that the event requires. */
static const char *const access_texts[EVENT_SUBJECTS] = {
#define SUBJECT(constant, permission, access) [constant] = (access),
#include "catalog/event.def"
};

TEST(test_events)
{
    unsigned bits[EVENT_SUBJECTS] = {0};

    for (enum event_kind event = EVENT_CREATED; event < EVENT_KINDS; event++) {
        const struct event_info *info = event_info(event);
        assert_int_equal(event_find(str_from(event_name(event))), event);
        assert_int_equal(info->subject == SUBJECT_RECORDS, event < ENTITY_EVENTS);
        assert_int_equal(__builtin_popcount(info->bit), 1);
        assert_int_equal(bits[info->subject] & info->bit, 0);
        bits[info->subject] |= info->bit;
    }
    assert_int_equal(ENTITY_EVENTS, 3);
    assert_int_equal(event_find(STR("entitycreated")), EVENT_KINDS);
    for (enum event_subject subject = SUBJECT_RECORDS; subject < EVENT_SUBJECTS; subject++)
        assert_non_null(strstr(access_texts[subject], perm_name(event_permission(subject))));
}

TEST(test_statuses)
{
    assert_int_equal(status_read(STATUS_OF_STEP, STR("failed")), STATUS_STEP_FAILED);
    assert_int_equal(status_read(STATUS_OF_JOB, STR("failed")), STATUS_JOB_FAILED);
    assert_int_equal(status_read(STATUS_OF_SEND, STR("Partial")), STATUS_SEND_PARTIAL);
    assert_int_equal(status_read(STATUS_OF_SEND, STR("failed")), STATUS_NONE);
    assert_int_equal(status_read(STATUS_OF_SUBSCRIPTION, STR_NONE), STATUS_NONE);
    assert_true(str_is(status_text(STATUS_SUBSCRIPTION_PAST_DUE), "past_due"));
    assert_null(status_text(STATUS_NONE).ptr);
}
