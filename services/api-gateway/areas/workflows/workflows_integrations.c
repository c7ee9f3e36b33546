/* Checks the integrations and operations that the steps of a workflow name. */
#include "areas/workflows/workflows.h"
#include "json/jr.h"
#include "workflow/definition.h"
#include "workflows_sql.h"

/* Returns 0 when the integration does not exist, 1 when it has no such operation, 2 when it has. */
static int64_t
known_operation(const struct rows *rows, struct str integration, struct str operation)
{
    int64_t known = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_workflow_integrations_row row = sql_workflow_integrations_row(rows, i);
        if (!str_eq(row.name, integration))
            continue;
        if (str_eq(row.operation, operation))
            return 2;
        known = 1;
    }
    return known;
}

static void check_integration_step(struct arena *arena,
                                   const struct rows *rows,
                                   const struct step *step,
                                   size_t index,
                                   struct schema_errors *errors)
{
    struct str integration = jr_str(step->params, "integration");
    struct str operation = jr_str(step->params, "operation");
    int64_t known = known_operation(rows, integration, operation);

    if (known == 2)
        return;
    schema_error_add(arena,
                     errors,
                     arena_printf(arena,
                                  "steps[%zu] (%.*s).params.%s",
                                  index,
                                  STR_ARG(step->key),
                                  known ? "operation" : "integration"),
                     PROBLEM_NOT_FOUND,
                     known ? "the integration has no operation %.*s"
                           : "there is no integration %.*s",
                     STR_ARG((known ? operation : integration)));
}

int workflow_check_integrations(struct req *r,
                                const struct definition *definition,
                                struct schema_errors *errors)
{
    struct arena *arena = r->task.arena;
    struct str *names = ARENA_ARRAY(arena, names, definition->step_count + 1);
    struct str *operations = ARENA_ARRAY(arena, operations, definition->step_count + 1);
    struct rows rows;
    size_t count = 0;

    for (size_t i = 0; i < definition->step_count; i++) {
        const struct step *step = &definition->steps[i];
        if (step->action != STEP_RUN_INTEGRATION)
            continue;
        names[count] = jr_str(step->params, "integration");
        operations[count++] = jr_str(step->params, "operation");
    }
    if (count == 0)
        return 0;
    TRY(sql_all(r,
                &rows,
                SQL_WORKFLOW_INTEGRATIONS(.names = sql_strs(names, count),
                                          .operations = sql_strs(operations, count))));
    for (size_t i = 0; i < definition->step_count; i++)
        if (definition->steps[i].action == STEP_RUN_INTEGRATION)
            check_integration_step(arena, &rows, &definition->steps[i], i, errors);
    return 0;
}
