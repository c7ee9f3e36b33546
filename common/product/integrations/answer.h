#pragma once
/*
 * Reads the answer of a third-party API as JSON.
 *
 * A byte order mark determines the charset, else Content-Type does. Without both, a body whose
 * first two bytes look like ASCII in UTF-16 is UTF-16. Any other body is UTF-8, or windows-1252 if
 * Content-Type names a text and the body is not valid UTF-8.
 *
 * If Content-Type names a text that is not JSON (text/plain, XML, a form), the value is that text.
 * Any other body is parsed as JSON; if that fails, the value is its text.
 */
#include <jansson.h>

#include "base/str.h"
#include "fetch/fetch.h"
#include "integrations/integration.h"
#include "loop/task.h"

/* An answer's body as a text: UTF-8 without U+0000 and byte order mark. Owned by the task's arena,
 * or borrowed from the response. */
struct answer_text {
    struct str text;
    bool is_plain; /* never parsed as JSON, because of its Content-Type */
};

/* co: Decodes an answer's body. Returns 0, ANSWER_UNREADABLE with *ret_reason (part of a sentence
 * whose subject is the answer), or ANSWER_TOO_LARGE: the text has more than
 * FETCH_DEFAULT_RESPONSE_BYTES as UTF-8. */
AWAITS int answer_text_read(struct task *task,
                            const struct fetch_response *response,
                            struct answer_text *ret_text,
                            struct str *ret_reason) MUSTCHECK;
/* co: Returns a text as a JSON value; null when the text is empty. Numbers that no column can hold
 * become texts (jr_parse_external()). Owned by the task's arena. */
AWAITS json_t *answer_read(struct task *task, const struct answer_text *text);
#define ANSWER_HEADERS_BYTES 8192
/* any: Returns the headers of an answer as steps store them: {name: value}, names in lower case,
 * values of one name joined by ", ". Headers of the connection and of content coding are left out,
 * and headers whose names announce credentials. The result ends before the header that would exceed
 * ANSWER_HEADERS_BYTES. Owned by the arena. */
json_t *answer_headers(struct arena *arena, const struct fetch_response *response);
/* any: Finds the part of an answer at a path ("data.items[0]", empty = all of it). *ret_part is
 * borrowed from `answer`, or arena-owned for paths with [*]. Returns 0, or a TEMPLATE_* with
 * *ret_reason. */
int answer_pick(struct arena *arena,
                struct str path,
                json_t *answer,
                json_t **ret_part,
                struct str *ret_reason) MUSTCHECK;
/* any: Applies an operation's `response` to an answer: picks the part at results_path, then applies
 * the map to this part or to each of its items. Ownership and results as of answer_pick(). */
int answer_map(struct arena *arena,
               const struct integration_response *response,
               json_t *answer,
               json_t **ret_value,
               struct str *ret_reason) MUSTCHECK;
