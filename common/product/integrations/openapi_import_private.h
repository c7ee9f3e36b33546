#pragma once
/* Declarations that the files of the import share. */
#include "integrations/openapi_import.h"

/* Optional parts that are left out of an operation of the result. */
enum openapi_loss {
    LOST_COOKIE,
    LOST_NAME,
    LOST_BODY,
    LOSSES,
};

/* The state of an import. */
struct openapi_reader {
    struct arena *arena;
    const json_t *root; /* the document, or the outline of a document given as JSON text */
    struct map *parts;  /* struct document_part by path; NULL = the document is not JSON text */
    struct schema_errors *errors;
    json_t *skipped;
    size_t steps;            /* counted so far, at most OPENAPI_STEPS_MAX */
    size_t arena_before;     /* bytes of the arena that were in use before the import */
    size_t json_bytes;       /* bytes of JSON values that the import made */
    bool is_over_limit;      /* a limit is exceeded and reported: nothing more is read */
    size_t wanted_count;     /* operations for the result so far, also those above the limit */
    struct map *names;       /* names of operations of the result */
    struct map *choices;     /* names of operations that the caller chose */
    struct map *stems;       /* openapi_stem() of the chosen names */
    bool lost_parts[LOSSES]; /* for the current operation */
};

/* any: Adds a finding. */
void openapi_fault(struct openapi_reader *reader, struct str at, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* any: Counts work before it is done: `steps`, and one more step for each STEP_BYTES of the `bytes`
 * that will be copied. Returns false if a limit would be exceeded, and on every later call. Only
 * the first such call adds a finding. */
bool openapi_count_cost(struct openapi_reader *reader, size_t steps, size_t bytes) MUSTCHECK;
/* any: Makes an empty map that is freed with the arena. */
struct map *openapi_map(struct arena *arena);
/* any: Adds an entry to the list of skipped operations and parts. */
void openapi_skip(struct openapi_reader *reader, struct str what, const char *reason);
/* any: Follows $ref, also several in turn, and returns the final value; `value` itself (or NULL) if
 * it has no $ref. Returns NULL with a finding when a reference is circular, external or leads
 * nowhere, and NULL after the limit. */
const json_t *openapi_follow(struct openapi_reader *reader, const json_t *value, struct str at);
/* any: Makes the outline of a document given as JSON text: the members about the whole document,
 * and the operations that may be chosen, without their responses. From then on references are found
 * in the text. */
void openapi_outline(struct openapi_reader *reader, struct str document);
/* The methods that operations may have, in lower case, NULL-terminated. */
extern const char *const openapi_methods[];
/* any: Returns the name of an operation, before a number is appended to make it unique. `id`: the
 * operationId, may be empty. STR_NONE after the limit. */
struct str openapi_operation_name(struct openapi_reader *reader,
                                  struct str id,
                                  const char *method,
                                  struct str path);
/* any: Returns a name without a number after its last _. */
struct str openapi_stem(struct str name);
/* any: Returns a member that is a text, shortened to a description; STR_NONE when it is missing,
 * and after the limit. Arena-owned. */
struct str openapi_text(struct openapi_reader *reader, const json_t *object, const char *member);
/* any: Returns a new object and counts its bytes. */
json_t *openapi_object(struct openapi_reader *reader);
/* any: Sets a member; takes over the reference to `value`. */
void openapi_put(json_t *object, const char *member, json_t *value);
/* any: Sets a member to a text and counts its bytes; to an empty text after the limit. */
void openapi_put_str(struct openapi_reader *reader,
                     json_t *object,
                     const char *member,
                     struct str value);

/* any: Sets type, enum and default of a parameter from a schema. */
void openapi_schema(struct openapi_reader *reader,
                    const json_t *schema,
                    struct str at,
                    bool in_body,
                    json_t *param);
/* any: Sets params, body and body_type of an operation. Returns NULL, or why the operation must be
 * skipped. */
const char *openapi_inputs(struct openapi_reader *reader,
                           const json_t *item,
                           const json_t *operation,
                           struct str at,
                           json_t *result);
/* any: Returns the auth of the integration as a new reference; with the scheme "none" if the
 * document has no supported scheme. */
json_t *openapi_auth(struct openapi_reader *reader);
