#pragma once
/*
 * A workflow as its author wrote it, parsed and checked whole. The gateway refuses what does not
 * parse before it is stored; the runner parses stored versions (immutable, cached by workflow and
 * version).
 *
 *     {"name", "enabled", "trigger": {...}, "start_step", "steps": [{"key", "name", "action",
 *      "enabled", "params", "next", "on_failure", "then", "else", "timeout_seconds"}]}
 *
 * A member that is null counts as left out. "then" and "else" belong to Condition, "next" to all
 * others; without them the job ends there. start_step is the first step unless it is given. A step
 * that is not enabled is skipped; a Condition then goes on with "then".
 *
 * Actions, their parameters and what these take stand in catalog/step.def; unknown parameters are
 * findings.
 *  - ReadData: operators and their meaning are those of GET .../items; in, nin, between take arrays
 *    (or one expression), null takes a boolean, a field alone means eq (null: is null).
 *  - Condition: the parameters are the condition (condition.h).
 *  - SendEmail: at least one of the bodies.
 *  - SendPushNotification: title and body are required without template_type; an audience of kind
 *    users takes an array or one expression, entity has an owner_entity_id or not, provider is fcm
 *    or web_push. [*] anywhere but in buttons and user_ids: one send for each row of that list,
 *    1,000 at most.
 * An id is an integer or a text with an expression.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/event.h"
#include "json/schema.h"
#include "model/model.h"
#include "workflow/condition.h"
#include "workflow/cron.h"

enum trigger_kind {
#define TRIGGER(constant, name, read, ...) constant,
#include "catalog/trigger.def"
};
const char *trigger_kind_name(enum trigger_kind kind);

enum step_action {
#define STEP(constant, action, function, kind, seconds, about) constant,
#include "catalog/step.def"
    STEP_ACTIONS,
};
const char *step_action_name(
    enum step_action action); /* "CreateData" ...; "Create Data" is accepted on input too */

#define STEPS_MAX 100
/* A tick that no runner has taken for longer than this is late. */
#define TICK_LATE_MS 300000
#define STEP_NONE    (-1)

struct step {
    struct str key, name;
    enum step_action action;
    bool enabled;
    const json_t *params;        /* object, checked against the action's members */
    struct condition *condition; /* STEP_CONDITION */
    int next, on_failure;        /* index into steps or STEP_NONE; a condition has on_true, on_false
                                    instead of next */
    int on_true, on_false;
    int64_t timeout_ms; /* default 30 s; CallAnApi 10 s; RunScript 10 s */
};

struct definition {
    struct str name;
    bool enabled;
    enum trigger_kind kind;
    enum event_kind event; /* kind event */
    struct str entity;     /* entity events: its name; PushActionTaken: category, may be empty */
    const json_t *filter;  /* as written, NULL = none */
    struct condition *filter_condition;
    struct str route;               /* kind api, lower case */
    struct str cron_text, timezone; /* kind timed */
    struct cron cron;
    bool skips_late; /* kind timed: "run_late" is "skip"; else a late tick runs once */
    struct step *steps;
    size_t step_count;
    int start; /* index */
};

/* any: parses and checks everything that needs no database: members, types, unknown and missing
 * parameters, step keys, links, steps that nothing reaches, loops (no step may lead back to
 * itself), cron, time zone, route, template syntax, references to steps that cannot have run before
 * and to members that no context has, secrets anywhere but in CallAnApi headers and body, templates
 * where they do not work. Findings name the step: "steps[2] (save).params.entity". True when it
 * added none to *errors; only then is the definition whole. Borrows from `doc`, which it does not
 * change. */
bool definition_parse(struct arena *arena,
                      const json_t *doc,
                      struct definition *ret_definition,
                      struct schema_errors *errors);
/* any: checks against the model: entities and fields that parameters name literally, of the trigger
 * too. Values may not name fields that the service sets; filters and sort no secret fields. True
 * when it added no finding. */
bool definition_check_model(struct arena *arena,
                            const struct definition *definition,
                            const struct model *model,
                            struct schema_errors *errors);
/* any: its trigger is an event of records. */
static inline bool definition_of_records(const struct definition *definition)
{
    return definition->kind == TRIGGER_EVENT &&
           event_info(definition->event)->subject == OF_RECORDS;
}
/* any: names of the secrets it uses, arena-owned, without repeats; each with the step that names it
 * first. */
struct definition_secret {
    struct str name;
    int step;
};
size_t definition_secrets(struct arena *arena,
                          const struct definition *definition,
                          struct definition_secret **ret_secrets);
/* any: the document as stored and answered: members in a fixed order, defaults filled in, trigger
 * as given with the current entity name. Arena-owned. */
json_t *definition_doc(struct arena *arena, const struct definition *definition);
