/* Checks the bodies of writes: unknown and read-only members, required fields, defaults, and each
 * value by its type. */
#include "records/write/body.h"
#include "records/rules/field_rule.h"
#include "records/write/size.h"

/* The context of checking one body. */
struct body_reading {
    struct records_ctx *ctx;
    const struct entity *entity;
    enum write_mode mode;
    struct write_row *row;
    const json_t **members; /* by index of the field in the entity; NULL = left out */
};

static void body_add_finding(const struct body_reading *in,
                             struct str field,
                             enum problem code,
                             const char *message)
{
    schema_error_add(in->ctx->task->arena, in->row->errors, field, code, "%s", message);
}

static bool member_is_writable(const struct body_reading *in, const struct model_field *field)
{
    const struct records_ctx *ctx = in->ctx;

    switch (in->mode) {
    case WRITE_CREATE:
        return field_rule_allows(ctx, field, ACT_CREATE);
    case WRITE_UPDATE:
        return field_rule_allows(ctx, field, ACT_UPDATE);
    case WRITE_UPSERT:
        return field_rule_allows(ctx, field, ACT_CREATE) &&
               field_rule_allows(ctx, field, ACT_UPDATE);
    }
    return false;
}

/* A field that the caller may neither read nor write is reported as unknown. */
static void body_read_member(const struct body_reading *in, struct str name, const json_t *value)
{
    const struct model_field *field = entity_field(in->entity, name);
    bool service = field != NULL ? field->system : str_is(name, "version");
    bool seen = field != NULL && field_rule_allows(in->ctx, field, ACT_READ);

    if (service)
        body_add_finding(in, name, PROBLEM_READ_ONLY, "is set by the service");
    else if (field != NULL && member_is_writable(in, field))
        in->members[field - in->entity->fields] = value_is_mask(field, value) ? NULL : value;
    else if (seen)
        body_add_finding(in, name, PROBLEM_READ_ONLY, "may not be written");
    else
        body_add_finding(in, name, PROBLEM_UNKNOWN_FIELD, "is not a known field");
}

/* Adds the finding for a required field that the body leaves out; in an upsert the finding applies
 * only if no record exists yet. A field that the caller may neither see nor write is not named,
 * because the caller cannot fill it. */
static void body_add_missing(const struct body_reading *in, const struct model_field *field)
{
    struct arena *arena = in->ctx->task->arena;
    bool seen = member_is_writable(in, field) || field_rule_allows(in->ctx, field, ACT_READ);
    struct schema_errors *errors = in->row->errors;

    if (in->mode == WRITE_UPSERT) {
        if (in->row->missing_errors == NULL)
            in->row->missing_errors = ARENA_NEW(arena, in->row->missing_errors);
        errors = in->row->missing_errors;
    }
    schema_error_add(arena,
                     errors,
                     seen ? field->name : STR(""),
                     PROBLEM_REQUIRED,
                     "%s",
                     seen ? "is required" : "the record needs a field that you may not write");
}

static void body_read_field(const struct body_reading *in, size_t index)
{
    const struct model_field *field = &in->entity->fields[index];
    struct value_scope scope = {in->ctx->task->arena, in->ctx->project, in->row->errors};
    const json_t *json = in->members[index];
    const json_t *fallback = field->default_value;
    struct write_row *row = in->row;
    struct value value = {.field = field, .param = P_NULL};

    if (field->system)
        return;
    if (json == NULL && in->mode == WRITE_UPDATE)
        return;
    if (field->is_many && in->mode == WRITE_UPSERT)
        fallback = NULL; /* a default would replace the links of an existing record */
    if (json == NULL && fallback == NULL) {
        if (field->required)
            body_add_missing(in, field);
        if (field->is_many || (field->required && in->mode == WRITE_UPSERT))
            return;
    } else if (!value_read(&scope, field, json != NULL ? json : fallback, &value)) {
        return;
    }
    if (field->is_many) {
        row->links[row->link_count++] = value;
        return;
    }
    row->is_given[row->count] = json != NULL;
    row->values[row->count++] = value;
}

void write_body_read(struct records_ctx *ctx,
                     const struct entity *entity,
                     const json_t *body,
                     enum write_mode mode,
                     struct write_row *row)
{
    struct arena *arena = ctx->task->arena;
    struct body_reading in = {ctx, entity, mode, row, NULL};
    const char *key;
    json_t *value;

    row->values = ARENA_ARRAY(arena, row->values, entity->field_count);
    row->is_given = ARENA_ARRAY(arena, row->is_given, entity->field_count);
    row->links = ARENA_ARRAY(arena, row->links, entity->field_count);
    in.members = ARENA_ARRAY(arena, in.members, entity->field_count);
    if (!json_is_object(body)) {
        body_add_finding(&in, STR(""), PROBLEM_TYPE_MISMATCH, "expected an object");
        return;
    }
    json_object_foreach((json_t *)body, key, value) body_read_member(&in, str_from(key), value);
    for (size_t i = 0; i < entity->field_count; i++)
        body_read_field(&in, i);
    if (row->errors->count == 0)
        size_check(ctx, mode, row);
}

const struct value *row_value(const struct write_row *row, const struct model_field *field)
{
    for (size_t i = 0; i < row->count; i++)
        if (row->values[i].field == field)
            return &row->values[i];
    return NULL;
}
