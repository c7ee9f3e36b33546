/* What is put around a :page statement: order, limit and offset, or a count. */
#include <string.h>

#include "base/arena.h"
#include "base/ascii.h"
#include "base/panic.h"
#include "db/sql.h"

static struct sql *wrap(struct arena *arena, const struct sql *page, const char *text)
{
    struct sql *sql = ARENA_NEW(arena, sql);

    *sql = *page;
    sql->text = text;
    sql->hash = str_hash(str_from(text)) ^ page->hash;
    sql->sort = NULL;
    return sql;
}

/* Rows that the chosen column does not tell apart are ordered by id; a list without ids by the
 * first column that it may be sorted by, which is unique then. */
static const char *tie_breaker(struct arena *arena, const struct sql *page)
{
    struct str rest = str_from(page->sort);
    struct str first = str_split(&rest, ',');
    struct str column = first;

    while (!str_is(column, "id")) {
        if (!rest.ptr)
            return arena_cstr(arena, first);
        column = str_split(&rest, ',');
    }
    return "id";
}

struct sql *
db_sql_page(struct arena *arena, const struct sql *page, const char *order_column, bool descending)
{
    const char *direction = descending ? "desc" : "asc";
    struct str column = str_from(order_column);

    /* It comes from the statement's own sort list, but a slip there must not become SQL. */
    MUST(ascii_only(column, ASCII_LOWER | ASCII_DIGIT, "_"));
    struct str text = arena_printf(arena,
                                   "select * from (%s) q order by q.%s %s nulls last, q.%s %s"
                                   " limit $%u offset $%u",
                                   page->text,
                                   order_column,
                                   direction,
                                   tie_breaker(arena, page),
                                   direction,
                                   page->arity + 1,
                                   page->arity + 2);
    struct sql *sql = wrap(arena, page, text.ptr);
    sql->arity = page->arity + 2;
    sql->kind = SQL_MANY;
    return sql;
}

struct sql *db_sql_count(struct arena *arena, const struct sql *page)
{
    struct str text = arena_printf(arena, "select count(*) as total_items from (%s) q", page->text);
    struct sql *sql = wrap(arena, page, text.ptr);

    sql->kind = SQL_ONE;
    sql->row = NULL;
    return sql;
}
