/* The list of commands and its execution. */
#include "ddl/ddl.h"

#include <stdarg.h>
#include <string.h>

#define PIPELINED        32      /* commands per round trip */
#define TOO_MANY_COLUMNS "54011" /* SQLSTATE: dropped columns count as well */
#define VALUE_TOO_LONG   "54000" /* SQLSTATE: longer than an index entry can be */

void ddl_init(struct ddl *ddl, struct arena *arena)
{
    *ddl = (struct ddl){.arena = arena};
}

void ddl_add(struct ddl *ddl, const char *format, ...)
{
    struct str text;
    va_list args;

    va_start(args, format);
    text = arena_vprintf(ddl->arena, format, args);
    va_end(args);
    const struct sql command = {
        .name = "ddl.command",
        .text = text.ptr,
        .hash = str_hash(text),
        .kind = SQL_EXEC,
        .writes = true,
        .no_prepare = true,
    };
    ARENA_PUSH(ddl->arena, ddl->items, ddl->count, ddl->cap, command);
}

static int answer_db_error(struct req *r, int rc)
{
    const char *state = db_error(&r->task)->sqlstate;

    if (rc < 0)
        return rc;
    if (strcmp(state, TOO_MANY_COLUMNS) == 0)
        return fail(
            r,
            PROBLEM_CONFLICT,
            "The entity has had too many fields, including removed fields. Create a new entity.");
    if (strcmp(state, VALUE_TOO_LONG) == 0)
        return fail(
            r, PROBLEM_SCHEMA_CONFLICT, "A record has a value that is too long to be indexed.");
    return fail_db(r, rc);
}

int ddl_run(struct req *r, const struct ddl *ddl)
{
    struct db_call calls[PIPELINED];

    if (r->scope->preview)
        return 0;
    for (size_t done = 0; done < ddl->count;) {
        size_t count = 0;
        for (; count < PIPELINED && done + count < ddl->count; count++)
            calls[count] = (struct db_call){.sql = &ddl->items[done + count]};
        int rc = db_batch(&r->task, r->scope->db, calls, count, NULL);
        if (rc)
            return answer_db_error(r, rc);
        done += count;
    }
    return 0;
}
