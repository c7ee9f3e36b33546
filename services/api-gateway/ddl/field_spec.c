/* Reads a field's definition from a body; adds errors if the definition is invalid. */
#include "ddl/field_spec.h"

#include <math.h>
#include <stdarg.h>

#include "ddl/ddl.h"
#include "json/jr.h"
#include "records/default.h"

#define VARCHAR_LENGTH     255
#define VARCHAR_LENGTH_MAX 10000
#define INDEXED_LENGTH_MAX 600              /* characters: 2,400 bytes fit an index entry */
#define INTEGER_BOUND      9007199254740992 /* 2^53: bounds are doubles */
#define FLOAT_BOUND        1e300
#define BOUND_BYTES_MAX    320  /* 1e300 in digits, and some decimals */
#define DEFAULT_BYTES_MAX  4096 /* as JSON text: it becomes part of a command */

bool entity_name_ok(struct str name)
{
    return model_name_ok(name) && !str_starts(name, STR("pg_"));
}

/* "or" and "and" combine filters; "version" is a column of every entity's table. */
bool field_name_ok(struct str name)
{
    return entity_name_ok(name) && !str_is(name, "or") && !str_is(name, "and") &&
           !str_is(name, "version");
}

static void PRINTF_LIKE(4, 5) add_finding(
    const struct field_spec *spec, const char *member, enum problem code, const char *format, ...)
{
    struct str path = arena_printf(spec->arena, "%s%s", spec->prefix, member);
    struct str message;
    va_list args;

    va_start(args, format);
    message = arena_vprintf(spec->arena, format, args);
    va_end(args);
    schema_error_add(spec->arena, spec->errors, path, code, "%.*s", STR_ARG(message));
}

static bool has_trait(enum model_type type, enum model_trait trait)
{
    return (model_type_info(type)->traits & trait) != 0;
}

/* --- options --- */

/* Adds an error for an option that only other types have; the caller ignores null. */
static void
refuse_option(const struct field_spec *spec, const char *member, bool given, enum model_type type)
{
    if (given)
        add_finding(spec,
                    member,
                    PROBLEM_UNKNOWN_FIELD,
                    "is not an option of a field of type %s",
                    model_type_info(type)->name);
}

static void refuse_other_types_options(const struct field_spec *spec,
                                       enum model_type type,
                                       const struct field_options_in *in)
{
    if (!has_trait(type, TRAIT_TEXT))
        refuse_option(spec, "options.max_length", in->max_length.set && !in->max_length.null, type);
    if (!has_trait(type, TRAIT_NUMBER)) {
        refuse_option(spec, "options.min", in->min.set && !in->min.null, type);
        refuse_option(spec, "options.max", in->max.set && !in->max.null, type);
    }
    if (type != TYPE_ENUM)
        refuse_option(spec, "options.enum", in->values.set && !in->values.null, type);
    if (type != TYPE_RELATION) {
        refuse_option(spec, "options.entity", in->entity.set && !in->entity.null, type);
        refuse_option(spec, "options.many", in->is_many.set && !in->is_many.null, type);
        refuse_option(spec, "options.on_delete", in->on_delete.set && !in->on_delete.null, type);
    }
}

static void set_length(const struct field_spec *spec,
                       const struct field_options_in *in,
                       struct model_field *field)
{
    if (in->max_length.set)
        field->max_length = in->max_length.null ? 0 : in->max_length.value;
    if (field->type != TYPE_VARCHAR)
        return;
    if (field->max_length == 0)
        field->max_length = VARCHAR_LENGTH;
    if (field->max_length > VARCHAR_LENGTH_MAX)
        add_finding(spec,
                    "options.max_length",
                    PROBLEM_OUT_OF_RANGE,
                    "must be at most %d for a varchar; use the type text for longer texts",
                    VARCHAR_LENGTH_MAX);
}

static struct str bound_text(struct arena *arena, const struct in_f64 *bound)
{
    return bound->null ? STR_NONE : jr_number(bound->json, arena_alloc(arena, 32));
}

static void set_bounds(const struct field_spec *spec,
                       const struct field_options_in *in,
                       struct model_field *field)
{
    double limit = field->type == TYPE_INTEGER ? (double)INTEGER_BOUND : FLOAT_BOUND;

    if (in->min.set) {
        field->has_min = !in->min.null;
        field->min = in->min.null ? 0 : in->min.value;
        field->min_text = bound_text(spec->arena, &in->min);
    }
    if (in->max.set) {
        field->has_max = !in->max.null;
        field->max = in->max.null ? 0 : in->max.value;
        field->max_text = bound_text(spec->arena, &in->max);
    }
    if (field->min_text.len > BOUND_BYTES_MAX)
        add_finding(spec, "options.min", PROBLEM_OUT_OF_RANGE, "has too many digits");
    if (field->max_text.len > BOUND_BYTES_MAX)
        add_finding(spec, "options.max", PROBLEM_OUT_OF_RANGE, "has too many digits");
    if (field->has_min && fabs(field->min) > limit)
        add_finding(spec, "options.min", PROBLEM_OUT_OF_RANGE, "is too far from zero");
    if (field->has_max && fabs(field->max) > limit)
        add_finding(spec, "options.max", PROBLEM_OUT_OF_RANGE, "is too far from zero");
    if (field->has_min && field->has_max && field->min > field->max)
        add_finding(
            spec, "options.min", PROBLEM_OUT_OF_RANGE, "must not be greater than options.max");
}

static void set_enum(const struct field_spec *spec,
                     const struct field_options_in *in,
                     struct model_field *field)
{
    if (in->values.set && !in->values.null) {
        field->values = model_enum_find(spec->model, in->values.value);
        if (!field->values)
            add_finding(
                spec, "options.enum", PROBLEM_FOREIGN_KEY_VIOLATION, "no enum has this name");
    } else if (!field->values || in->values.set) {
        add_finding(spec, "options.enum", PROBLEM_REQUIRED, "is required for a field of type enum");
    }
}

/* Refuses a change of a relation's target or of `many`: its table depends on both. */
static void keep_relation(const struct field_spec *spec,
                          const struct field_options_in *in,
                          const struct model_field *field)
{
    bool entity =
        in->entity.set && (in->entity.null || !str_eq(in->entity.value, field->target->name));
    bool many = in->is_many.set && (in->is_many.null || in->is_many.value != field->is_many);

    if (entity)
        add_finding(
            spec, "options.entity", PROBLEM_READ_ONLY, "cannot be changed; create a new field");
    if (many)
        add_finding(
            spec, "options.many", PROBLEM_READ_ONLY, "cannot be changed; create a new field");
}

static void set_target(const struct field_spec *spec,
                       const struct field_options_in *in,
                       struct model_field *field)
{
    field->is_many = in->is_many.set && in->is_many.value;
    field->on_delete = field->is_many ? ON_DELETE_SET_NULL : ON_DELETE_RESTRICT;
    if (!in->entity.set || in->entity.null) {
        add_finding(spec, "options.entity", PROBLEM_REQUIRED, "is required for a relation");
        return;
    }
    /* The target may be the entity itself, which may not be in the model yet. */
    field->target = str_eq(in->entity.value, spec->entity->name)
                        ? spec->entity
                        : model_entity(spec->model, in->entity.value);
    if (!field->target)
        add_finding(
            spec, "options.entity", PROBLEM_FOREIGN_KEY_VIOLATION, "no entity has this name");
}

static void set_relation(const struct field_spec *spec,
                         const struct field_options_in *in,
                         struct model_field *field)
{
    if (field->id)
        keep_relation(spec, in, field);
    else
        set_target(spec, in, field);
    if (in->on_delete.set && in->on_delete.null)
        field->on_delete = field->is_many ? ON_DELETE_SET_NULL : ON_DELETE_RESTRICT;
    else if (in->on_delete.set)
        field->on_delete = (enum model_on_delete)model_on_delete_find(in->on_delete.value);
    if (field->is_many && field->on_delete == ON_DELETE_CASCADE)
        add_finding(spec,
                    "options.on_delete",
                    PROBLEM_OUT_OF_RANGE,
                    "must be restrict or set_null for a relation to many");
    if (!field->is_many && field->required && field->on_delete == ON_DELETE_SET_NULL)
        add_finding(spec,
                    "options.on_delete",
                    PROBLEM_OUT_OF_RANGE,
                    "must not be set_null for a required relation");
}

static void
set_options(const struct field_spec *spec, const struct field_in *in, struct model_field *field)
{
    static const struct field_options_in none;
    const struct field_options_in *given = in->options.value ? in->options.value : &none;

    refuse_other_types_options(spec, field->type, given);
#define SEARCH_OPTION(member, ...)                                                                 \
    if (given->member.set)                                                                         \
        field->member = given->member.null ? 0 : given->member.value;
#include "model/search_option.def"
    if (has_trait(field->type, TRAIT_TEXT))
        set_length(spec, given, field);
    if (has_trait(field->type, TRAIT_NUMBER))
        set_bounds(spec, given, field);
    if (field->type == TYPE_ENUM)
        set_enum(spec, given, field);
    if (field->type == TYPE_RELATION)
        set_relation(spec, given, field);
}

/* --- default --- */

static void check_default(const struct field_spec *spec, struct model_field *field)
{
    struct str fault;

    if (field->type == TYPE_ENUM && !field->values)
        return; /* set_enum() has already added the error */
    if (!record_default_read(spec->arena, spec->project, field, &fault))
        add_finding(spec,
                    "default",
                    PROBLEM_TYPE_MISMATCH,
                    "is not a valid value of the field: %.*s",
                    STR_ARG(fault));
}

static void
set_default(const struct field_spec *spec, const struct field_in *in, struct model_field *field)
{
    bool is_checked = !field->id || in->default_value.set || in->type.set || in->options.set;

    if (in->default_value.set)
        field->default_value =
            json_is_null(in->default_value.value) ? NULL : in->default_value.value;
    if (!field->default_value || !is_checked)
        return;
    if (!has_trait(field->type, TRAIT_DEFAULT))
        add_finding(spec,
                    "default",
                    PROBLEM_VALIDATION_FAILED,
                    "is not allowed for a field of type %s",
                    model_type_info(field->type)->name);
    else if (jr_print(spec->arena, field->default_value).len > DEFAULT_BYTES_MAX)
        add_finding(
            spec, "default", PROBLEM_TOO_LONG, "must be at most %d bytes", DEFAULT_BYTES_MAX);
    else
        check_default(spec, field);
}

/* --- flags --- */

static void set_flags(const struct field_in *in, struct model_field *field)
{
    if (in->required.set)
        field->required = in->required.value;
    if (in->unique.set)
        field->unique = in->unique.value;
    if (in->indexed.set)
        field->indexed = in->indexed.value;
    if (in->searchable.set)
        field->searchable = in->searchable.value;
    if (in->is_public.set)
        field->is_public = in->is_public.value;
}

/* Returns whether the type can be indexed and is useful in filters. */
static bool can_index(const struct model_field *field)
{
    return !field->is_many && has_trait(field->type, TRAIT_INDEX);
}

static void
refuse_flag(const struct field_spec *spec, const char *flag, const struct model_field *field)
{
    add_finding(spec,
                flag,
                PROBLEM_VALIDATION_FAILED,
                "a field of type %s%s cannot be %s",
                model_type_info(field->type)->name,
                field->is_many ? " to many" : "",
                flag);
}

static void check_flags(const struct field_spec *spec, const struct model_field *field)
{
    bool long_text = has_trait(field->type, TRAIT_TEXT) &&
                     (field->max_length == 0 || field->max_length > INDEXED_LENGTH_MAX);

    if (field->unique && !can_index(field))
        refuse_flag(spec, "unique", field);
    if (field->indexed && !can_index(field))
        refuse_flag(spec, "indexed", field);
    if ((field->unique || field->indexed) && long_text)
        add_finding(spec,
                    field->unique ? "unique" : "indexed",
                    PROBLEM_VALIDATION_FAILED,
                    "requires an options.max_length of at most %d",
                    INDEXED_LENGTH_MAX);
    if (field->type != TYPE_SECRET)
        return;
    if (field->searchable)
        refuse_flag(spec, "searchable", field);
    if (field->is_public)
        refuse_flag(spec, "public", field);
}

/* --- fields --- */

static void
set_members(const struct field_spec *spec, const struct field_in *in, struct model_field *field)
{
    if (!field_name_ok(field->name))
        add_finding(spec, "name", PROBLEM_PATTERN, "%s", NAME_WORDS);
    set_flags(in, field);
    set_options(spec, in, field);
    set_default(spec, in, field);
    check_flags(spec, field);
}

void field_spec_create(const struct field_spec *spec,
                       const struct field_in *in,
                       struct model_field *ret_field)
{
    *ret_field = (struct model_field){
        .name = in->name.value,
        .type = model_type_find(in->type.value),
        .entity = spec->entity,
    };
    set_members(spec, in, ret_field);
}

/* Changes the type and clears the options that the new type does not have. */
static void
change_type(const struct field_spec *spec, enum model_type type, struct model_field *field)
{
    struct ddl_conversion conversion;

    if (!ddl_conversion_find(field->type, type, &conversion))
        add_finding(spec,
                    "type",
                    PROBLEM_TYPE_MISMATCH,
                    "%s cannot be converted to %s; create a new field",
                    model_type_info(field->type)->name,
                    model_type_info(type)->name);
    if (!has_trait(type, TRAIT_NUMBER))
        field->has_min = field->has_max = false;
    field->max_length = 0;
    field->values = NULL;
    field->type = type;
}

void field_spec_update(const struct field_spec *spec,
                       const struct model_field *old,
                       const struct field_in *in,
                       struct model_field *ret_field)
{
    *ret_field = *old;
    if (in->name.set)
        ret_field->name = in->name.value;
    if (in->type.set) {
        enum model_type type = model_type_find(in->type.value);
        if (type != old->type)
            change_type(spec, type, ret_field);
    }
    if (spec->errors->count == 0)
        set_members(spec, in, ret_field);
}
