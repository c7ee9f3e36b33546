/* Failures of records: problem codes for ctx->error, and the only mapping of database results. */
#include "records/rules/error.h"

#include <stdarg.h>

#include "base/num.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "db/problem.h"
#include "log/log.h"
#include "model/model.h"
#include "records/records.h"
#include "records/rules/field_rule.h"

static int
fail_with_args(struct records_ctx *ctx, enum problem code, const char *format, va_list args)
{
    ctx->error.code = code;
    ctx->error.detail = arena_vprintf(ctx->task->arena, format, args);
    return RECORDS_FAILED;
}

int records_fail(struct records_ctx *ctx, enum problem code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int rc = fail_with_args(ctx, code, format, args);
    va_end(args);
    return rc;
}

int records_fail_field(struct records_ctx *ctx,
                       enum problem code,
                       struct str field,
                       enum problem finding,
                       const char *format,
                       ...)
{
    struct arena *arena = ctx->task->arena;
    va_list args;

    va_start(args, format);
    struct str message = arena_vprintf(arena, format, args);
    va_end(args);
    schema_error_add(arena, &ctx->error.fields, field, finding, "%.*s", STR_ARG(message));
    return records_fail(ctx, code, "%.*s: %.*s", STR_ARG(field), STR_ARG(message));
}

void records_finding_add(
    struct records_ctx *ctx, struct str field, enum problem finding, const char *format, ...)
{
    struct arena *arena = ctx->task->arena;
    va_list args;

    va_start(args, format);
    struct str message = arena_vprintf(arena, format, args);
    va_end(args);
    schema_error_add(arena, &ctx->error.fields, field, finding, "%.*s", STR_ARG(message));
}

int records_fail_findings(struct records_ctx *ctx, enum problem code)
{
    const struct schema_errors *found = &ctx->error.fields;

    if (found->count == 0)
        return 0;
    if (found->count > 1)
        return records_fail(ctx, code, "%zu values are not accepted", found->count);
    struct str field = found->items[0].field;
    return records_fail(ctx,
                        code,
                        "%.*s%s%.*s",
                        STR_ARG(field),
                        field.len > 0 ? ": " : "",
                        STR_ARG(found->items[0].message));
}

/* Shortens a text of the caller that an answer repeats, at the end of a character. */
static struct str error_shortened(struct str text)
{
    return utf8_cut(text, 80);
}

void records_finding_add_unknown(struct records_ctx *ctx, struct str parameter, struct str name)
{
    struct str shown = error_shortened(name);

    records_finding_add(ctx,
                        error_shortened(parameter),
                        PROBLEM_UNKNOWN_FIELD,
                        "there is no field \"%.*s\"",
                        STR_ARG(shown));
}

int records_fail_hidden(struct records_ctx *ctx)
{
    return records_fail(ctx, PROBLEM_CONFLICT, RECORDS_HIDDEN_TEXT);
}

int records_fail_not_found(struct records_ctx *ctx)
{
    return records_fail(ctx, PROBLEM_NOT_FOUND, "The record does not exist.");
}

int records_check_size(struct records_ctx *ctx, const struct strbuf *out)
{
    if (ctx->values != NULL || !out->overflow)
        return 0;
    return records_fail(ctx, PROBLEM_TOO_LARGE_ANSWER, "%s", db_problem(DB_TOO_LARGE)->detail);
}

/* --- database results --- */

/* The field of constraint "u_12" or "fk_12"; NULL if it belongs to another entity or names no
 * field. */
static const struct model_field *constraint_field(const struct entity *entity,
                                                  struct str constraint)
{
    int64_t id;

    if (constraint.ptr == NULL || entity == NULL)
        return NULL;
    (void)str_split(&constraint, '_');
    if (constraint.ptr == NULL || !num_parse_i64(constraint, &id))
        return NULL;
    return entity_field_by_id(entity, id);
}

static int
fail_unique(struct records_ctx *ctx, const struct entity *entity, const struct db_error *error)
{
    const struct model_field *field = constraint_field(entity, error->constraint);

    if (field == NULL)
        return records_fail(
            ctx, PROBLEM_UNIQUE_VIOLATION, "A record with this value exists already.");
    if (!field_rule_allows(ctx, field, ACT_READ))
        return records_fail_hidden(ctx);
    return records_fail_field(ctx,
                              PROBLEM_UNIQUE_VIOLATION,
                              field->name,
                              PROBLEM_UNIQUE_VIOLATION,
                              "another record has this value already");
}

/* A write that refers to a missing record is the caller's mistake. A delete of a referenced record
 * is a conflict. */
static int
fail_foreign_key(struct records_ctx *ctx, const struct entity *entity, const struct db_error *error)
{
    const struct model_field *field = constraint_field(entity, error->constraint);

    if (field == NULL || str_starts(error->message, STR("update or delete")))
        return records_fail(
            ctx, PROBLEM_FOREIGN_KEY_VIOLATION, "The record is still referenced by other records.");
    if (!field_rule_allows(ctx, field, ACT_READ))
        return records_fail_hidden(ctx);
    return records_fail_field(ctx,
                              PROBLEM_VALIDATION_FAILED,
                              field->name,
                              PROBLEM_FOREIGN_KEY_VIOLATION,
                              "refers to a record that does not exist");
}

static int fail_db_result(struct records_ctx *ctx, int rc)
{
    const struct db_problem *problem = db_problem(rc);

    return records_fail(
        ctx, problem->problem, "%s", problem->detail ? problem->detail : "The statement failed.");
}

int records_fail_schema(struct records_ctx *ctx)
{
    return fail_db_result(ctx, DB_SCHEMA);
}

int records_db_result(struct records_ctx *ctx, const struct entity *entity, int rc)
{
    if (rc <= 0)
        return rc;

    const struct db_error *error = db_error(ctx->task);
    switch (rc) {
    case DB_UNIQUE:
        return fail_unique(ctx, entity, error);
    case DB_FOREIGN_KEY:
        return fail_foreign_key(ctx, entity, error);
    case DB_SCHEMA:
        return ctx->db->lease == NULL || ctx->can_repeat ? RECORDS_SCHEMA : fail_db_result(ctx, rc);
    case DB_CONFLICT:
        return ctx->can_repeat ? DB_CONFLICT : fail_db_result(ctx, rc);
    default:
        return fail_db_result(ctx, rc);
    }
}

/* --- a model that changed under a statement --- */

bool records_should_repeat(struct records_ctx *ctx, const struct entity **entity, int *rc)
{
    int64_t id = (*entity)->id;

    if (*rc != RECORDS_SCHEMA)
        return false;
    if (ctx->is_reloaded) {
        *rc = records_fail_schema(ctx);
        return false;
    }
    log_debug("records.model_changed", L_I64("entity", id));
    ctx->is_reloaded = true;
    ctx->error = (struct records_error){0};
    *rc = project_reload_model(ctx->task, ctx->project, &ctx->model);
    if (*rc > 0)
        *rc = records_fail(ctx, PROBLEM_DEPENDENCY_UNAVAILABLE, "The data model cannot be read.");
    if (*rc != 0)
        return false;
    const struct entity *found = model_entity_by_id(ctx->model, id);
    if (found != NULL)
        *entity = found;
    else
        *rc = records_fail(ctx, PROBLEM_NOT_FOUND, "The entity does not exist.");
    return found != NULL;
}
