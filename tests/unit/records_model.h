#pragma once
/*
 * A hand-made model for tests without a database: entities "one" and "two" with a field of each
 * type, and a caller who may read all of both. "two" has a row rule.
 */
#include <stdlib.h>
#include <string.h>

#include "records/records.h"

static struct entity entities[2];
static struct model_field fields[2][16];
static struct model model = {.version = 1, .entities = entities, .entity_count = 2};

static void
model_add_field(size_t entity, const char *name, const char *column, enum model_type type)
{
    struct model_field *field = &fields[entity][entities[entity].field_count++];
    const struct entity *self = &entities[entity];

    *field = (struct model_field){
        .id = (int64_t)(entity * 100 + self->field_count),
        .name = str_from(name),
        .column = str_from(column),
        .type = type,
        .entity = self,
        .system = str_is(str_from(name), "id"),
        .target = type == TYPE_RELATION ? &entities[1 - entity] : NULL,
    };
    (void)map_put(self->by_name, field->name, field);
}

static void make_model(void)
{
    static const struct str values[] = {STR_INIT("open"), STR_INIT("paid")};
    static const struct model_enum states = {.name = STR_INIT("s"), .values = values, .count = 2};
    static const struct {
        const char *name;
        const char *column;
        enum model_type type;
    } all[] = {
        {"id", "id", TYPE_INTEGER},
        {"a", "f_1", TYPE_TEXT},
        {"b", "f_2", TYPE_INTEGER},
        {"c", "f_3", TYPE_FLOAT},
        {"d", "f_4", TYPE_DECIMAL},
        {"e", "f_5", TYPE_BOOL},
        {"f", "f_6", TYPE_DATE},
        {"g", "f_7", TYPE_DATETIME},
        {"h", "f_8", TYPE_JSON},
        {"or", "f_9", TYPE_ENUM},
        {"j", "f_10", TYPE_FILE},
        {"k", "f_11", TYPE_RELATION},
        {"l", "f_12", TYPE_RELATION},
        {"m", "f_13", TYPE_SECRET},
    };

    model.arena = arena_new(0);
    model.statements = map_new();
    for (size_t i = 0; i < ARRAY_LEN(entities); i++) {
        entities[i] = (struct entity){
            .id = (int64_t)i + 1,
            .name = i > 0 ? STR("two") : STR("one"),
            .table = i > 0 ? STR("e_2") : STR("e_1"),
            .row_level_security = i > 0,
            .fields = fields[i],
            .by_name = map_new(),
        };
        for (size_t k = 0; k < ARRAY_LEN(all); k++)
            model_add_field(i, all[k].name, all[k].column, all[k].type);
        fields[i][9].values = &states;
        fields[i][12].is_many = true;
    }
}

/* Returns a caller who may read both entities. */
static const struct caller *model_caller(void)
{
    static const int64_t ids[] = {1, 2, 3};
    static struct field_rule all = {.all = true};
    static struct entity_right rights_of[] = {
        {.entity_id = 1, .actions = 1U << ACT_READ},
        {.entity_id = 2, .actions = 1U << ACT_READ},
    };
    static const struct rights rights = {
        .entities = rights_of, .entity_count = 2, .role_ids = (int64_t *)ids, .role_count = 3};
    static const struct caller caller = {
        .kind = CALLER_USER, .user_id = 7, .rights = &rights, .group_scope = 4};

    for (size_t i = 0; i < ARRAY_LEN(rights_of); i++)
        for (size_t k = 0; k < ARRAY_LEN(rights_of[i].fields); k++)
            rights_of[i].fields[k] = all;
    if (model.arena == NULL)
        make_model();
    return &caller;
}
