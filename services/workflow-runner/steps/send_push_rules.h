#pragma once
/* Completes and checks a request of SendPushNotification before it is handed over: fills in values
 * of its template, and checks that its group of buttons (push_group_check()) allows the request. */
#include "push/send_rules.h"
#include "step.h"

/* The template and the group of the last lookup, because most rows of a list name the same template
 * and group. Zeroed before the first row. */
struct send_push_cache {
    struct str type;
    struct push_template texts;
    struct str category, buttons;
};

/* co: Completes and checks `request`, which has no template_type afterwards. 0, STEP_FAILED,
 * STEP_STOP, or a negative. */
AWAITS int send_push_rules(struct step_call *call, struct send_push_cache *last, json_t *request)
    MUSTCHECK;
/* any: Whether a parameter has a value: null and "" count as none. */
bool send_push_has_value(const json_t *value);
