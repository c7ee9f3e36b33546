/*
 * Any JSON as a workflow: an accepted workflow has complete steps and links, is equal after it is
 * printed and read again, and lists its secrets; a refused one has findings with known codes.
 */
#include <stdint.h>
#include <string.h>

#include "base/panic.h"
#include "base/utf8.h"
#include "catalog/problem.h"
#include "json/jr.h"
#include "workflow/definition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct entity entity = {.name = STR_INIT("e")};
static struct model_field fields[] = {
    {.name = STR_INIT("id"), .type = TYPE_INTEGER, .system = true},
    {.name = STR_INIT("a"), .type = TYPE_TEXT},
    {.name = STR_INIT("s"), .type = TYPE_SECRET},
    {.name = STR_INIT("r"), .type = TYPE_RELATION, .target = &entity},
};
static struct model model = {.entities = &entity, .entity_count = 1};

static void make_model(void)
{
    entity.by_name = map_new();
    model.by_name = map_new();
    (void)map_put(model.by_name, entity.name, &entity);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        (void)map_put(entity.by_name, fields[i].name, &fields[i]);
}

static void check_findings(const struct schema_errors *errors, bool right)
{
    MUST(right == (errors->count == 0));
    for (size_t i = 0; i < errors->count && i < ARRAY_LEN(errors->items); i++) {
        MUST(problem_find(errors->items[i].code) != PROBLEM_NONE);
        MUST(utf8_valid(errors->items[i].field) && utf8_valid(errors->items[i].message));
        MUST(errors->items[i].message.len > 0);
    }
}

static bool is_link(const struct definition *definition, int link)
{
    return link == STEP_NONE || (link >= 0 && (size_t)link < definition->step_count);
}

static void check_whole(const struct definition *definition)
{
    MUST(definition->name.len > 0);
    MUST(definition->step_count >= 1 && definition->step_count <= STEPS_MAX);
    MUST(definition->start >= 0 && is_link(definition, definition->start));
    for (size_t i = 0; i < definition->step_count; i++) {
        const struct step *step = &definition->steps[i];
        MUST(step->key.len >= 1 && step->key.len <= 48 && json_is_object(step->params));
        MUST(is_link(definition, step->next) && is_link(definition, step->on_failure));
        MUST(is_link(definition, step->on_true) && is_link(definition, step->on_false));
        MUST((step->condition != NULL) == (step->action == STEP_CONDITION));
        MUST(step->timeout_ms >= 1000 && step->timeout_ms <= 3600000);
    }
}

static void check_again(struct arena *arena, const struct definition *definition)
{
    struct schema_errors errors = {.count = 0};
    struct definition again;
    struct jr_error error;
    json_t *read;

    struct str text = jr_print(arena, definition_doc(arena, definition));
    MUST(jr_parse(arena, text, &read, &error) == 0);
    MUST(definition_parse(arena, read, &again, &errors));
    MUST(str_eq(text, jr_print(arena, definition_doc(arena, &again))));
}

static void check_secrets(struct arena *arena, const struct definition *definition)
{
    struct definition_secret *secrets;
    size_t count = definition_secrets(arena, definition, &secrets);

    for (size_t i = 0; i < count; i++) {
        MUST(secrets[i].step >= 0 && (size_t)secrets[i].step < definition->step_count);
        MUST(definition->steps[secrets[i].step].action == STEP_CALL_AN_API);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct schema_errors errors = {.count = 0};
    struct definition definition;
    struct jr_error error;
    json_t *doc;

    if (model.by_name == NULL)
        make_model();
    if (jr_parse(arena, (struct str){(const char *)data, size}, &doc, &error) == 0) {
        bool right = definition_parse(arena, doc, &definition, &errors);
        check_findings(&errors, right);
        if (right) {
            check_whole(&definition);
            check_again(arena, &definition);
            check_secrets(arena, &definition);
            right = definition_check_model(arena, &definition, &model, &errors);
            check_findings(&errors, right);
        }
    }
    arena_free(arena);
    return 0;
}
