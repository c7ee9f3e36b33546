/* Schemas of workflows and jobs. workflow/definition.h checks triggers and steps; their schemas
 * here only document them. */
#include "areas/workflows/workflows.h"

/* clang-format off: tables of catalog/ are included in the middle of texts */
const char *const workflow_trigger_kinds[] = {
#define TRIGGER(constant, name, read, ...) name,
#include "catalog/trigger.def"
    NULL,
};
static const char *const events[] = {
#define EVENT(constant, name, subject, bit) name,
#include "catalog/event.def"
    NULL,
};

static const struct field filter_fields[] = {
    {.name = "field", .type = FIELD_STR},
    {.name = "op", .type = FIELD_STR},
    {.name = "value", .type = FIELD_JSON},
    {.name = "all",
     .type = FIELD_LIST,
     .doc = "Instead of the other members: conditions that must all be true"},
    {.name = "any",
     .type = FIELD_LIST,
     .doc = "Instead of the other members: conditions of which one must be true"},
};
static const struct schema filter_schema = {
    .name = "WorkflowTriggerFilter",
    .fields = filter_fields,
    .count = ARRAY_LEN(filter_fields),
    .is_unchecked = true,
};

static const char *const run_late_values[] = {"once", "skip", NULL};
static const struct field trigger_fields[] = {
    {.name = "kind",
     .type = FIELD_STR,
     .required = true,
     .values = workflow_trigger_kinds,
     .doc = "What starts the workflow. Any enabled workflow can also be started by hand"},
    {.name = "cron",
     .type = FIELD_STR,
     .doc = "timed: minute, hour, day of month, month, day of week; *, */5, 1-5 and lists",
     .example = "\"*/5 * * * *\""},
    {.name = "timezone",
     .type = FIELD_STR,
     .doc = "timed: an IANA time zone name; UTC when left out",
     .example = "\"Europe/Paris\""},
    {.name = "run_late",
     .type = FIELD_STR,
     .values = run_late_values,
     .doc = "timed: what happens to a tick that could not run within five minutes. once (also when "
            "left out): the last missed tick runs once; skip: one skipped job with the reason late "
            "is recorded for all missed ticks. A workflow that was saved or enabled after a tick "
            "does not run this tick",
     .example = "\"skip\""},
    {.name = "event",
     .type = FIELD_STR,
     .values = events,
     .doc = "event: what happened. A job gets only what the workflow's editor may see: "
#define SUBJECT(constant, permission, access) access
#include "catalog/event.def"
            "; otherwise the job is skipped (not_permitted). Administrators see everything"},
    {.name = "entity",
     .type = FIELD_STR,
     .nullable = true,
     .doc = "event: the entity of EntityCreated, EntityUpdated and EntityDeleted, null after the "
            "entity was deleted; the button group of PushActionTaken, any group when left out",
     .example = "\"orders\""},
    {.name = "filter",
     .type = FIELD_OBJ,
     .nullable = true,
     .sub = &filter_schema,
     .doc = "event: only events whose data matches start the workflow",
     .example = "{\"field\":\"action_id\",\"op\":\"eq\",\"value\":\"yes\"}"},
    {.name = "route",
     .type = FIELD_STR,
     .doc =
         "api: one path segment, stored in lower case, unique among all workflows of the project",
     .example = "\"sync-orders\""},
};
static const struct schema trigger_schema = {
    .name = "WorkflowTrigger",
    .fields = trigger_fields,
    .count = ARRAY_LEN(trigger_fields),
    .is_unchecked = true,
    .example = "{\"kind\":\"event\",\"event\":\"EntityCreated\",\"entity\":\"orders\"}",
};

#define EXAMPLE_PARAMS                                                                             \
    "{\"entity\":\"orders\",\"values\":{\"name\":\"{{ $svc.trigger.data.name }}\"}}"

static const struct field step_fields[] = {
    {.name = "key",
     .type = FIELD_STR,
     .required = true,
     .format = "key",
     .doc = "Name of the step's output: $svc.steps.<key>.data",
     .example = "\"save\""},
    {.name = "name", .type = FIELD_STR, .nullable = true, .example = "\"Save the order\""},
    {.name = "action",
     .type = FIELD_STR,
     .required = true,
     .doc = "One of "
#define FIRST_STEP(constant, action, function, kind, seconds, about) action
#define STEP(constant, action, function, kind, seconds, about)       ", " action
#include "catalog/step.def"
            "; spaces between the words are allowed",
     .example = "\"CreateData\""},
    {.name = "enabled",
     .type = FIELD_BOOL,
     .doc = "false: the step is skipped; a skipped Condition continues with the step in then"},
    {.name = "params",
     .type = FIELD_MAP,
     .doc =
         "Parameters of the action. [T]: templates are allowed, {{ $svc.trigger.data.name }} or {{ "
         "$svc.steps.find.data[0].id }}; a text that is a single expression keeps the type of "
         "the value.\n"
#define STEP(constant, action, function, kind, seconds, about) "\n- " action ": " about
#define PARAM(name, flags, type, min, max, about)              about
#define STEP_OPERATOR(name)                                    " " name
#include "catalog/step.def"
     ,
     .example = EXAMPLE_PARAMS},
    {.name = "next",
     .type = FIELD_STR,
     .nullable = true,
     .doc = "Key of the next step; null or left out: the job ends"},
    {.name = "on_failure",
     .type = FIELD_STR,
     .nullable = true,
     .doc = "Key of the step that runs when this step fails; null or left out: the job fails"},
    {.name = "then",
     .type = FIELD_STR,
     .nullable = true,
     .doc = "Condition: key of the next step when the condition is true"},
    {.name = "else",
     .type = FIELD_STR,
     .nullable = true,
     .doc = "Condition: key of the next step when the condition is false"},
    {.name = "timeout_seconds",
     .type = FIELD_I64,
     .nullable = true,
     .format = "",
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 3600,
     .doc = "Time limit of the step, in seconds. When left out: 10 for CallAnApi and RunScript, 15 "
            "for RunIntegration, 30 for all other actions",
     .example = "30"},
};
static const struct schema step_schema = {
    .name = "WorkflowStep",
    .fields = step_fields,
    .count = ARRAY_LEN(step_fields),
    .is_unchecked = true,
    .example = "{\"key\":\"save\",\"action\":\"CreateData\",\"params\":" EXAMPLE_PARAMS "}",
};
/* clang-format on */

#define WORKFLOW_MEMBERS(must)                                                                     \
    {.name = "name",                                                                               \
     FIELD_AT(struct workflow_in, name),                                                           \
     .type = FIELD_STR,                                                                            \
     .required = (must),                                                                           \
     .min = 1,                                                                                     \
     .max = 200,                                                                                   \
     .example = "\"Welcome\""},                                                                    \
        {.name = "enabled",                                                                        \
         FIELD_AT(struct workflow_in, enabled),                                                    \
         .type = FIELD_BOOL,                                                                       \
         .doc = "false: nothing starts the workflow"},                                             \
        {.name = "trigger",                                                                        \
         FIELD_AT(struct workflow_in, trigger),                                                    \
         .type = FIELD_OBJ,                                                                        \
         .required = (must),                                                                       \
         .sub = &trigger_schema},                                                                  \
        {.name = "start_step",                                                                     \
         FIELD_AT(struct workflow_in, start_step),                                                 \
         .type = FIELD_STR,                                                                        \
         .nullable = true,                                                                         \
         .max = 100,                                                                               \
         .doc = "Key of the step that a job begins with; the first step when left out",            \
         .example = "\"save\""},                                                                   \
    {                                                                                              \
        .name = "steps", FIELD_AT(struct workflow_in, steps), .type = FIELD_LIST,                  \
        .required = (must), .max = 100, .sub = &step_schema                                        \
    }

static const struct field create_fields[] = {WORKFLOW_MEMBERS(true)};
static const struct field update_fields[] = {WORKFLOW_MEMBERS(false)};
const struct schema workflow_create_schema =
    SCHEMA("WorkflowCreate", struct workflow_in, create_fields);
const struct schema workflow_update_schema =
    SCHEMA("WorkflowUpdate", struct workflow_in, update_fields);

static const struct field workflow_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true, .example = "5"},
    {.name = "name", .type = FIELD_STR, .required = true, .example = "\"Welcome\""},
    {.name = "enabled", .type = FIELD_BOOL, .required = true},
    {.name = "version",
     .type = FIELD_I64,
     .required = true,
     .doc = "Increased by every save",
     .example = "3"},
    {.name = "trigger", .type = FIELD_OBJ, .required = true, .sub = &trigger_schema},
    {.name = "start_step", .type = FIELD_STR, .required = true, .example = "\"save\""},
    {.name = "steps", .type = FIELD_LIST, .required = true, .sub = &step_schema},
    {.name = "editor_id",
     .type = FIELD_I64,
     .required = true,
     .doc = "The user who last changed what the workflow does. Jobs have this user's rights, or "
            "fewer when an API key made the change"},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
    {.name = "next_fire_at",
     .type = FIELD_TIME,
     .required = true,
     .nullable = true,
     .doc = "Next tick of an enabled timed workflow"},
};
const struct schema workflow_schema = SCHEMA_OUT("Workflow", workflow_fields);

#define VERSION_MEMBERS                                                                            \
    {.name = "version", .type = FIELD_I64, .required = true, .example = "3"},                      \
        {.name = "editor_id", .type = FIELD_I64, .required = true},                                \
    {                                                                                              \
        .name = "created_at", .type = FIELD_TIME, .required = true                                 \
    }

static const struct field version_listed_fields[] = {VERSION_MEMBERS};
const struct schema workflow_version_listed_schema =
    SCHEMA_OUT("WorkflowVersionListed", version_listed_fields);

static const struct field version_fields[] = {
    VERSION_MEMBERS,
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "trigger", .type = FIELD_OBJ, .required = true, .sub = &trigger_schema},
    {.name = "start_step", .type = FIELD_STR, .required = true},
    {.name = "steps", .type = FIELD_LIST, .required = true, .sub = &step_schema},
};
const struct schema workflow_version_schema = SCHEMA_OUT("WorkflowVersion", version_fields);

/* --- jobs --- */

const char *const job_statuses[] = {
    "queued", "running", "waiting", "succeeded", "failed", "cancelled", "skipped", NULL};
static const char *const step_statuses[] = {
    "sent", "succeeded", "failed", "skipped", "interrupted", "cancelled", NULL};

#define JOB_TRIGGER_MEMBERS                                                                        \
    {.name = "kind", .type = FIELD_STR, .required = true, .values = workflow_trigger_kinds},       \
        {.name = "event",                                                                          \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .nullable = true,                                                                         \
         .example = "\"EntityCreated\""},                                                          \
        {.name = "id",                                                                             \
         .type = FIELD_I64,                                                                        \
         .required = true,                                                                         \
         .doc = "$svc.trigger.id: id of the record, 0 when there is no record",                    \
         .example = "12"},                                                                         \
    {                                                                                              \
        .name = "entity_name", .type = FIELD_STR, .required = true, .nullable = true,              \
        .example = "\"orders\""                                                                    \
    }

static const struct field job_trigger_listed_fields[] = {JOB_TRIGGER_MEMBERS};
static const struct schema job_trigger_listed_schema =
    SCHEMA_OUT("JobTriggerListed", job_trigger_listed_fields);
static const struct field job_trigger_fields[] = {
    JOB_TRIGGER_MEMBERS,
    {.name = "data",
     .type = FIELD_JSON,
     .required = true,
     .nullable = true,
     .doc = "$svc.trigger.data",
     .example = "{\"name\":\"Ada\"}"},
};
static const struct schema job_trigger_schema = SCHEMA_OUT("JobTrigger", job_trigger_fields);

static const struct field job_step_fields[] = {
    {.name = "key", .type = FIELD_STR, .required = true, .example = "\"save\""},
    {.name = "action", .type = FIELD_STR, .required = true, .example = "\"CreateData\""},
    {.name = "run",
     .type = FIELD_I64,
     .required = true,
     .doc = "1, increased by each retry of the job",
     .example = "1"},
    {.name = "status",
     .type = FIELD_STR,
     .required = true,
     .values = step_statuses,
     .doc = "sent: a request to another system is under way; interrupted: the job was cut off "
            "during such a request, which is not sent again"},
    {.name = "started_at", .type = FIELD_TIME, .required = true},
    {.name = "finished_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "input",
     .type = FIELD_JSON,
     .required = true,
     .nullable = true,
     .doc = "Evaluated parameters, with secrets masked",
     .example = "{\"entity\":\"orders\"}"},
    {.name = "output",
     .type = FIELD_JSON,
     .required = true,
     .nullable = true,
     .example = "{\"data\":[]}"},
    {.name = "error", .type = FIELD_JSON, .required = true, .nullable = true, .example = "null"},
    {.name = "log",
     .type = FIELD_JSON,
     .required = true,
     .nullable = true,
     .doc = "Log output of a script",
     .example = "null"},
};
static const struct schema job_step_schema = SCHEMA_OUT("JobStep", job_step_fields);

#define JOB_MEMBERS                                                                                \
    {.name = "id", .type = FIELD_I64, .required = true, .example = "90"},                          \
        {.name = "workflow_id", .type = FIELD_I64, .required = true, .example = "5"},              \
        {.name = "workflow_version",                                                               \
         .type = FIELD_I64,                                                                        \
         .required = true,                                                                         \
         .doc = "The version that the job was queued with and runs",                               \
         .example = "3"},                                                                          \
        {.name = "status",                                                                         \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .values = job_statuses,                                                                   \
         .doc = "waiting is reserved: a job whose step waits for something is running"},           \
        {.name = "run", .type = FIELD_I64, .required = true, .doc = "1, increased by each retry"}, \
        {.name = "attempt",                                                                        \
         .type = FIELD_I64,                                                                        \
         .required = true,                                                                         \
         .doc =                                                                                    \
             "How often a runner started this run; more than 1 when a runner was lost that ran "   \
             "no other job"},                                                                      \
        {.name = "depth",                                                                          \
         .type = FIELD_I64,                                                                        \
         .required = true,                                                                         \
         .doc = "Number of earlier jobs in the chain of events that led to this job"},             \
        {.name = "error",                                                                          \
         .type = FIELD_MAP,                                                                        \
         .required = true,                                                                         \
         .nullable = true,                                                                         \
         .doc = "Of a failed job: step_key, code, message, and status_code of a call; without "    \
                "message for callers who may not see the job's data",                              \
         .example =                                                                                \
             "{\"step_key\":\"save\",\"code\":\"not_found\",\"message\":\"There is no such "       \
             "record.\"}"},                                                                        \
        {.name = "reason",                                                                         \
         .type = FIELD_STR,                                                                        \
         .required = true,                                                                         \
         .nullable = true,                                                                         \
         .doc =                                                                                    \
             "Why a job was skipped: loop_guard (its chain of events is too deep), fan_out_guard " \
             "(one event starts too many jobs, or too many jobs are queued; one skipped job "      \
             "stands for all jobs that were left out), late (its tick was missed, and run_late "   \
             "is skip), workflow_disabled (the workflow was disabled while the job was queued), "  \
             "or not_permitted (the workflow's editor may not see the event; shown to "            \
             "administrators only)",                                                               \
         .example = "null"},                                                                       \
        {.name = "queued_at", .type = FIELD_TIME, .required = true},                               \
        {.name = "started_at", .type = FIELD_TIME, .required = true, .nullable = true},            \
    {                                                                                              \
        .name = "finished_at", .type = FIELD_TIME, .required = true, .nullable = true              \
    }

static const struct field job_listed_fields[] = {
    JOB_MEMBERS,
    {.name = "trigger", .type = FIELD_OBJ, .required = true, .sub = &job_trigger_listed_schema},
};
const struct schema job_listed_schema = SCHEMA_OUT("JobListed", job_listed_fields);

static const struct field job_fields[] = {
    JOB_MEMBERS,
    {.name = "data_hidden",
     .type = FIELD_BOOL,
     .required = true,
     .doc = "true: trigger.data, the steps' input, output and log, and the messages of errors are "
            "withheld, because the job did not run in the caller's name. The data of an event is "
            "also withheld until the first step has run"},
    {.name = "trigger", .type = FIELD_OBJ, .required = true, .sub = &job_trigger_schema},
    {.name = "steps",
     .type = FIELD_LIST,
     .required = true,
     .sub = &job_step_schema,
     .doc = "In the order in which the steps ran; only the newest steps of a long history"},
};
const struct schema job_schema = SCHEMA_OUT("Job", job_fields);
