#pragma once
/* What the files of the import share. */
#include "integrations/openapi_import.h"

/* What an operation of the result does without. */
enum openapi_loss {
    LOST_COOKIE,
    LOST_NAME,
    LOST_BODY,
    LOSSES,
};

/* A document while it is read. */
struct openapi_reader {
    struct arena *arena;
    const json_t *root; /* an outline where the document is a text */
    struct map *pieces; /* of the text, by their paths; NULL = the root is all there is */
    struct schema_errors *errors;
    json_t *skipped;
    size_t steps;        /* of OPENAPI_STEPS_MAX */
    size_t arena_before; /* bytes that the arena had handed out before */
    size_t json_bytes;   /* of JSON values that were made */
    bool is_spent;       /* a limit was passed and a finding says so: nothing more is read */
    size_t wanted;       /* operations so far */
    struct map *names;   /* of operations of the result */
    struct map *choices; /* names that the caller wants */
    struct map *stems;   /* of those names */
    bool lost[LOSSES];   /* of the operation that is being read */
};

/* any: a finding in the document. */
void openapi_fault(struct openapi_reader *reader, struct str at, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* any: counts what is about to be tried, compared (steps) and copied (bytes, of which 64 are a step
 * as well). Called before each piece of work. False, with one finding, when the import would pass
 * one of its limits; false from then on. */
bool openapi_spend(struct openapi_reader *reader, size_t steps, size_t bytes) MUSTCHECK;
/* any: a map that goes with the arena. */
struct map *openapi_map(struct arena *arena);
/* any: what is left out, and why. */
void openapi_skip(struct openapi_reader *reader, struct str what, const char *reason);
/* any: `value`, or what its $ref leads to in the end; NULL with a finding when it leads nowhere,
 * and without one when there is none. */
const json_t *openapi_follow(struct openapi_reader *reader, const json_t *value, struct str at);
/* any: makes the root of a document that is a text: what is about the whole, and the operations
 * that may be chosen, without their answers. References lead into the text from now on. */
void openapi_outline(struct openapi_reader *reader, struct str document);
/* Methods of operations, in small letters; NULL ends them. */
extern const char *const openapi_methods[];
/* any: the name of an operation, without the number that it gets where another one has the name;
 * `id` may be empty. Counted; STR_NONE beyond the limit. */
struct str openapi_operation_name(struct openapi_reader *reader,
                                  struct str id,
                                  const char *method,
                                  struct str path);
/* any: a name without the number behind its last _. */
struct str openapi_stem(struct str name);
/* any: a text without what does not belong in one, at most so many bytes; STR_NONE = none. */
struct str openapi_text(struct openapi_reader *reader, const json_t *object, const char *member);
/* any: a new object, counted. */
json_t *openapi_object(struct openapi_reader *reader);
/* any: sets a member; takes `value`. */
void openapi_put(json_t *object, const char *member, json_t *value);
/* any: sets a member to a text, which is counted; an empty one beyond the limit. */
void openapi_put_str(struct openapi_reader *reader,
                     json_t *object,
                     const char *member,
                     struct str value);

/* any: the parameter that a schema becomes: its type, enum and default. */
void openapi_schema(struct openapi_reader *reader,
                    const json_t *schema,
                    struct str at,
                    bool in_body,
                    json_t *param);
/* any: params, body and body_type of an operation. NULL, or why it cannot be had. */
const char *openapi_inputs(struct openapi_reader *reader,
                           const json_t *item,
                           const json_t *operation,
                           struct str at,
                           json_t *result);
/* any: the auth of the integration; one of scheme none when it has no other. */
json_t *openapi_auth(struct openapi_reader *reader);
