#pragma once
/* What came back from somebody else's API, as JSON. */
#include <jansson.h>

#include "base/str.h"
#include "integrations/integration.h"
#include "loop/task.h"

/* co: a body as JSON: parsed, or as a text when it is UTF-8 without U+0000 but no JSON, or null.
 * Owned by the task's arena. */
AWAITS json_t *answer_read(struct task *task, struct str body);
/* any: the part at a path ("data.items[0]", empty = all of it), borrowed. 0, or a TEMPLATE_* with
 * *ret_reason. */
int answer_pick(struct arena *arena,
                struct str path,
                json_t *answer,
                json_t **ret_part,
                struct str *ret_reason) MUSTCHECK;
/* any: what an operation keeps of an answer: its part, mapped. As answer_pick(). */
int answer_map(struct arena *arena,
               const struct integration_response *response,
               json_t *answer,
               json_t **ret_value,
               struct str *ret_reason) MUSTCHECK;
