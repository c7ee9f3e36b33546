#pragma once
/*
 * A workflow as its author wrote it, parsed and checked as a whole. The gateway stores a definition
 * only when it parses. The runner parses stored versions, which are immutable, and caches them by
 * workflow and version.
 *
 *     {"name", "enabled", "trigger": {...}, "start_step", "steps": [{"key", "name", "action",
 *      "enabled", "params", "next", "on_failure", "then", "else", "timeout_seconds"}]}
 *
 * A member that is null counts as left out. Condition has "then" and "else", all other actions have
 * "next". The job ends where the member is left out. The default of start_step is the first step. A
 * step that is not enabled is skipped; a skipped Condition continues with "then".
 *
 * catalog/step.def lists the actions and their parameters. Unknown parameters are findings.
 *  - ReadData: the operators are those of the filter of GET .../items. in, nin and between take
 *    arrays (or one expression). null takes a boolean. A field with a value instead of an operator
 *    means eq, and with the value null "is null".
 *  - Condition: the parameters are the condition (condition.h).
 *  - SendEmail: without template_type, subject and at least one of the bodies are required.
 *  - SendPushNotification: title and body are required without template_type. An audience of kind
 *    users takes an array or one expression. In an audience of kind entity, owner_entity_id may be
 *    left out. provider is fcm or web_push. [*] anywhere but in buttons and user_ids sends one
 *    notification for each row of that list, at most 1,000.
 *
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
/* any: Returns the name of a trigger kind ("timed"). Static. */
const char *trigger_kind_name(enum trigger_kind kind);

enum step_action {
#define STEP(constant, action, function, kind, seconds, about) constant,
#include "catalog/step.def"
    STEP_ACTIONS,
};
/* any: Returns the name of an action ("CreateData"). Static. "Create Data" is accepted on input
 * too. */
const char *step_action_name(enum step_action action);

#define STEPS_MAX 100
/* A tick (one due time of a timed trigger) that no runner has taken for longer than this is
 * late. */
#define TICK_LATE_MS 300000
#define STEP_NONE    (-1)

struct step {
    struct str key, name;
    enum step_action action;
    bool enabled;
    const json_t *params;        /* object, checked against the parameters of the action */
    struct condition *condition; /* of STEP_CONDITION only */
    int next, on_failure; /* indexes into steps, or STEP_NONE; a condition has on_true and on_false
                             instead of next */
    int on_true, on_false;
    int64_t timeout_ms; /* timeout_seconds, or the default of the action (catalog/step.def) */
};

struct definition {
    struct str name;
    bool enabled;
    enum trigger_kind kind;
    enum event_kind event; /* of TRIGGER_EVENT */
    struct str entity;    /* of an entity event; or the category of PushActionTaken, may be empty */
    const json_t *filter; /* as written; NULL = no filter */
    struct condition *filter_condition;
    struct str route;               /* of TRIGGER_API, lower case */
    struct str cron_text, timezone; /* of TRIGGER_TIMED */
    struct cron cron;
    bool skips_late_ticks; /* of TRIGGER_TIMED: "run_late" is "skip"; otherwise a late tick runs
                              once */
    struct step *steps;
    size_t step_count;
    int start; /* index of the first step to run */
};

/* any: Parses a definition and checks everything that needs no database: members, types, unknown
 * and missing parameters, step keys, links, steps that no step leads to, loops (no step may lead
 * back to itself), cron, time zone, route and template syntax. Also refuses references to steps
 * that cannot have run before and to members that no context has, secrets anywhere but in the
 * headers and the body of CallAnApi, and templates in parameters that are not evaluated. Findings
 * name the step: "steps[2] (save).params.entity". Returns true when it added no finding to *errors.
 * Only then is the definition complete. The definition borrows from `doc`, which is not changed. */
bool definition_parse(struct arena *arena,
                      const json_t *doc,
                      struct definition *ret_definition,
                      struct schema_errors *errors);
/* any: Checks a definition against the model: entities and fields that parameters and the trigger
 * name literally. Values may not name fields that the service sets, and filters and sort may not
 * name secret fields. Returns true when it added no finding to *errors. */
bool definition_check_model(struct arena *arena,
                            const struct definition *definition,
                            const struct model *model,
                            struct schema_errors *errors);
/* any: Whether the trigger is an event of records. */
static inline bool definition_has_record_event(const struct definition *definition)
{
    return definition->kind == TRIGGER_EVENT &&
           event_info(definition->event)->subject == SUBJECT_RECORDS;
}
/* A secret that a definition uses. */
struct definition_secret {
    struct str name;
    int step; /* index of the first step that names the secret */
};
/* any: Lists the secrets that the definition uses, without repeats. Returns how many there are;
 * *ret_secrets is arena-owned. */
size_t definition_secrets(struct arena *arena,
                          const struct definition *definition,
                          struct definition_secret **ret_secrets);
/* any: Returns the document that is stored and returned to callers: members in a fixed order,
 * defaults filled in, addresses percent-encoded. Arena-owned. */
json_t *definition_doc(struct arena *arena, const struct definition *definition);
