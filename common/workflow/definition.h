#pragma once
/*
 * A workflow as its author wrote it, parsed and checked whole. The gateway refuses what does not parse
 * before it is stored; the runner parses stored versions (immutable, cached by workflow and version).
 *
 * {"name", "enabled", "trigger": {...}, "start_step", "steps": [{"key", "name", "action", "enabled", "params",
 *  "next", "on_failure", "then", "else", "timeout_seconds"}]}
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "domain/model.h"
#include "json/schema.h"
#include "workflow/condition.h"
#include "workflow/cron.h"

enum trigger_kind { TRIGGER_TIMED, TRIGGER_EVENT, TRIGGER_MANUAL, TRIGGER_API };
const char *trigger_kind_name(enum trigger_kind kind);

/* Names of section 6 of the contract; entity events first. */
enum workflow_event {
    WF_ENTITY_CREATED, WF_ENTITY_UPDATED, WF_ENTITY_DELETED,
    WF_PAYMENT_CREATED, WF_PAYMENT_SUCCEEDED, WF_PAYMENT_FAILED,
    WF_SUBSCRIPTION_CREATED, WF_SUBSCRIPTION_ACTIVATED, WF_SUBSCRIPTION_EXPIRED,
    WF_METHOD_CAPTURED, WF_METHOD_CAPTURE_FAILED, WF_METHOD_REMOVED,
    WF_PUSH_ACTION_TAKEN, WF_EVENTS,
};
const char *workflow_event_name(enum workflow_event event);
int workflow_event_find(struct str name); /* -1 */

enum step_action {
    STEP_CREATE_DATA, STEP_READ_DATA, STEP_UPDATE_DATA, STEP_DELETE_DATA, STEP_BULK_CREATE_DATA, STEP_CONDITION,
    STEP_RUN_SCRIPT, STEP_CALL_AN_API, STEP_SEND_PUSH, STEP_SEND_EMAIL, STEP_ACTIONS,
};
const char *step_action_name(enum step_action action); /* "CreateData" ...; "Create Data" is accepted on input too */

#define STEPS_MAX 100
#define STEP_NONE (-1)

struct step {
    struct str key, name;
    enum step_action action;
    bool enabled;
    const json_t *params;        /* object, checked against the action's members */
    struct condition *condition; /* STEP_CONDITION */
    int next, on_failure;        /* index into steps or STEP_NONE; a condition has on_true, on_false instead of next */
    int on_true, on_false;
    int64_t timeout_ms;          /* default 30 s; CallAnApi 10 s; RunScript 10 s */
};

struct definition {
    struct str name;
    bool enabled;
    enum trigger_kind kind;
    enum workflow_event event;       /* kind event */
    struct str entity;               /* entity events: its name; PushActionTaken: category, may be empty */
    const json_t *filter;            /* as written, NULL = none */
    struct condition *filter_condition;
    struct str route;                /* kind api, lower case */
    struct str cron_text, timezone;  /* kind timed */
    struct cron cron;
    struct step *steps;
    size_t step_count;
    int start;                       /* index */
};

/* any: parses and checks everything that needs no database: members, types, unknown and missing parameters, step
 * keys, links, steps that nothing reaches, loops of next (a step may not lead back to itself), cron, time zone, route, template
 * syntax, references to steps that cannot have run before, secrets anywhere but in CallAnApi headers and body,
 * templates in a URL. Findings name the step: "steps[2] (save).params.entity". True when there are none. Borrows from `doc`. */
bool definition_parse(struct arena *arena, const json_t *doc, struct definition *ret_definition,
                      struct schema_errors *errors);
/* any: checks against the model: entities and fields that parameters name literally. */
bool definition_check_model(struct arena *arena, const struct definition *definition, const struct model *model,
                            struct schema_errors *errors);
/* any: names of the secrets it uses, arena-owned, without repeats; each with the step that names it first. */
struct definition_secret {
    struct str name;
    int step;
};
size_t definition_secrets(struct arena *arena, const struct definition *definition, struct definition_secret **ret_secrets);
/* any: the document as stored and answered: members in a fixed order, defaults filled in, trigger as given with the
 * current entity name. Arena-owned. */
json_t *definition_doc(struct arena *arena, const struct definition *definition);
