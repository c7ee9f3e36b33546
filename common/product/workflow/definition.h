#pragma once
/*
 * A workflow as its author wrote it, parsed and checked whole. The gateway refuses what does not parse
 * before it is stored; the runner parses stored versions (immutable, cached by workflow and version).
 *
 * {"name", "enabled", "trigger": {...}, "start_step", "steps": [{"key", "name", "action", "enabled", "params",
 *  "next", "on_failure", "then", "else", "timeout_seconds"}]}
 * A member that is null counts as left out. "then" and "else" belong to Condition, "next" to all others; without
 * them the job ends there. start_step is the first step unless told.
 * A step that is not enabled is skipped; a Condition then goes on with "then".
 *
 * Parameters, [T] = templates work, ? = may be left out (all texts have limits, unknown parameters are findings):
 *   CreateData      entity, values {field: [T]}
 *   ReadData        entity, id? [T], filter? {field: value[T] | {op: value[T]}, "or": [filter], "and": [filter]},
 *                   sort? and fields? ("a,-b" or an array of texts), limit? 1..500 (default 20), page? 1..
 *                   operators and their meaning are those of GET .../items; in, nin, between take arrays (or one
 *                   expression), null takes a boolean, a field alone means eq (null: is null)
 *   UpdateData      entity, id [T], values {field: [T]}, at least one
 *   DeleteData      entity, id [T]
 *   BulkCreateData  entity, items: 1..1,000 objects {field: [T]}, or one expression [T]
 *   Condition       condition.h; the parameters are the condition
 *   RunScript       script, 1..65,536 bytes
 *   CallAnApi       url (fixed, absolute, http or https), method GET POST PUT DELETE, headers? {name: text [T]},
 *                   body? any JSON [T], results_path? (reference_parse_path); secrets work in headers and body
 *   SendEmail       to, cc?, bcc? (address or 1..50 of them) [T], reply_to? [T], subject [T], body_text? [T],
 *                   body_html? [T], at least one of the bodies
 *   SendPushNotification  title, body (both required without template_type), template_type?, image_url?, click_action?,
 *                   category?, buttons? [{id, label, click_action?}] or one expression, data? {name: text},
 *                   audience {kind: user (user_id?) | users (user_ids: array or one expression) | entity
 *                   (owner_entity_name, owner_entity_id?) | all, provider?: fcm | web_push}; all [T].
 *                   [*] anywhere but in buttons and user_ids: one send for each row of that list, 1,000 at most
 * An id is an integer or a text with an expression.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "catalog/event.h"
#include "model/model.h"
#include "json/schema.h"
#include "workflow/condition.h"
#include "workflow/cron.h"

enum trigger_kind { TRIGGER_TIMED, TRIGGER_EVENT, TRIGGER_MANUAL, TRIGGER_API };
const char *trigger_kind_name(enum trigger_kind kind);

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
    enum event_kind event;           /* kind event */
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
 * keys, links, steps that nothing reaches, loops (no step may lead back to itself), cron, time zone, route, template
 * syntax, references to steps that cannot have run before and to members that no context has, secrets anywhere but in
 * CallAnApi headers and body, templates where they do not work. Findings name the step: "steps[2] (save).params.entity".
 * True when it added none to *errors; only then is the definition whole. Borrows from `doc`, which it does not change. */
bool definition_parse(struct arena *arena, const json_t *doc, struct definition *ret_definition,
                      struct schema_errors *errors);
/* any: checks against the model: entities and fields that parameters name literally, of the trigger too. Values may
 * not name fields that the service sets; filters and sort no secret fields. True when it added no finding. */
bool definition_check_model(struct arena *arena, const struct definition *definition, const struct model *model,
                            struct schema_errors *errors);
/* any: its trigger is an event of records. */
static inline bool definition_of_records(const struct definition *definition)
{
    return definition->kind == TRIGGER_EVENT &&
           event_info(definition->event)->subject == OF_RECORDS;
}
/* any: names of the secrets it uses, arena-owned, without repeats; each with the step that names it first. */
struct definition_secret {
    struct str name;
    int step;
};
size_t definition_secrets(struct arena *arena, const struct definition *definition, struct definition_secret **ret_secrets);
/* any: the document as stored and answered: members in a fixed order, defaults filled in, trigger as given with the
 * current entity name. Arena-owned. */
json_t *definition_doc(struct arena *arena, const struct definition *definition);
