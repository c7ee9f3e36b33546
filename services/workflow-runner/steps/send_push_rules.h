#pragma once
/* What a request of SendPushNotification becomes before it is handed over: its template's part is
 * filled in, and its group of buttons must let it go. */
#include "push/send_rules.h"
#include "step.h"

/* Rows of a list mostly name the same: what was looked up last. Zeroed before the first. */
struct send_push_last {
    struct str type;
    struct push_template texts;
    struct str category, buttons;
};

/* co: 0, STEP_FAILED, STEP_GONE, or a negative. `request` has no template_type afterwards. */
AWAITS int send_push_rules(struct step_call *call, struct send_push_last *last, json_t *request)
    MUSTCHECK;
/* any: whether a parameter says something: null and "" do not. */
bool send_push_given(const json_t *value);
