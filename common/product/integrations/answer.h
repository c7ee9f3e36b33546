#pragma once
/*
 * What came back from somebody else's API, as JSON.
 *
 * Its text is that of its charset: of a byte order mark, else as Content-Type says, else UTF-8.
 * What says nothing and is no UTF-8 may be UTF-16 that ASCII shows, or is read as windows-1252
 * where Content-Type names a text. Text that is no JSON by its Content-Type (text/plain, XML, a
 * form) stays a text; all else is JSON where it can be read as such, and a text where it cannot.
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
    bool is_plain; /* not read as JSON, whatever stands in it */
};

/* co: 0; ANSWER_UNREADABLE with *ret_reason ("its content coding ... is not read"); or
 * ANSWER_TOO_LARGE: as UTF-8 it has more than FETCH_DEFAULT_RESPONSE_BYTES. */
AWAITS int answer_text_read(struct task *task,
                            const struct fetch_response *response,
                            struct answer_text *ret_text,
                            struct str *ret_reason) MUSTCHECK;
/* co: a text as JSON; null when it is empty. Numbers that no column can hold become texts of their
 * characters (jr_parse_foreign()). Owned by the task's arena. */
AWAITS json_t *answer_read(struct task *task, const struct answer_text *text);
/* any: headers of an answer as a step keeps them: {name: value}, names in lower case, several of a
 * name joined by ", "; the first ANSWER_HEADERS_BYTES, without those of the connection and its
 * codings and those that carry credentials by their names. Owned by the arena. */
#define ANSWER_HEADERS_BYTES 8192
json_t *answer_headers(struct arena *arena, const struct fetch_response *response);
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
