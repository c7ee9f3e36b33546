#pragma once
/* Helpers of the tests of workflow definitions: documents made of parts, errors as text. */
#include "catalog/problem.h"
#include "workflow/definition.h"
#include "workflow_json.h"

static struct definition definition;
static struct schema_errors errors;

static bool parse(struct str text)
{
    errors = (struct schema_errors){.count = 0};
    return definition_parse(arena, json(text), &definition, &errors);
}

static struct str found(void)
{
    struct strbuf out;

    strbuf_init(&out, arena, 65536);
    for (size_t i = 0; i < errors.count && i < ARRAY_LEN(errors.items); i++)
        strbuf_printf(&out,
                      "\n  %.*s: %s: %.*s",
                      STR_ARG(errors.items[i].field),
                      errors.items[i].code,
                      STR_ARG(errors.items[i].message));
    return strbuf_view(&out);
}

UNUSED static void parse_ok(struct str text)
{
    if (!parse(text))
        fail_msg("%.*s:%.*s", STR_ARG(text), STR_ARG(found()));
}

/* Returns a document around one trigger and `steps`. */
static struct str doc(const char *trigger, const char *steps)
{
    return arena_printf(arena, "{\"name\":\"W\",\"trigger\":%s,\"steps\":[%s]}", trigger, steps);
}

#define MANUAL               "{\"kind\":\"manual\"}"
#define SCRIPT               "\"action\":\"RunScript\",\"params\":{\"script\":\"1\"}"
#define A                    "{\"key\":\"a\"," SCRIPT "}"
#define STEP(action, params) "{\"key\":\"a\",\"action\":\"" action "\",\"params\":" params "}"
#define EVENT(members)       "{\"kind\":\"event\"," members "}"
#define P(name)              "steps[0] (a).params" name

struct wrong {
    const char *text; /* a whole document, a trigger, or steps */
    const char *field;
    const char *code;
    const char *message; /* a part of the message */
};

/* Asserts that exactly this error was found. */
static void expect(bool right, const struct wrong *wrong)
{
    const struct schema_error *first = &errors.items[0];

    assert_int_equal(right, errors.count == 0);
    if (right || errors.count != 1 || !str_is(first->field, wrong->field) ||
        strcmp(first->code, wrong->code) != 0 ||
        memmem(first->message.ptr, first->message.len, wrong->message, strlen(wrong->message)) ==
            NULL)
        fail_msg("%s:%.*s", wrong->text, STR_ARG(found()));
    assert_int_not_equal(problem_find(first->code), PROBLEM_NONE);
}
