/* Wraps a :page statement: with order, limit and offset, or with a count. */
#include <string.h>

#include "base/arena.h"
#include "base/ascii.h"
#include "base/panic.h"
#include "db/sql.h"

static struct sql *page_wrap(struct arena *arena, const struct sql *page, const char *text)
{
    struct sql *sql = ARENA_NEW(arena, sql);

    *sql = *page;
    sql->text = text;
    sql->hash = str_hash(str_from(text)) ^ page->hash;
    sql->sort = NULL;
    return sql;
}

/* The column that orders rows with equal values in the chosen column: id, or the page's first sort
 * column, which is unique in a page without ids. */
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

/* Columns of names that people choose, in all lists; all of them are texts. (In the list of secrets
 * the name is the key, and there is no id.) */
static bool is_name_column(struct str column)
{
    return str_is(column, "name") || str_is(column, "title") || str_is(column, "label") ||
           str_is(column, "filename");
}

static struct str
page_collate(struct arena *arena, const struct sql *page, struct str column, struct str collation)
{
    if (collation.len == 0 || !is_name_column(column) || str_is(column, tie_breaker(arena, page)))
        return STR("");
    return arena_printf(arena, " collate \"%.*s\"", STR_ARG(collation));
}

struct sql *db_sql_page(struct arena *arena,
                        const struct sql *page,
                        const char *order_column,
                        bool descending,
                        struct str collation)
{
    const char *direction = descending ? "desc" : "asc";
    struct str column = str_from(order_column);

    /* `column` is of the statement's own sort list, but a mistake there must not become SQL. */
    MUST(ascii_has_only(column, ASCII_LOWER | ASCII_DIGIT, "_"));
    struct str text = arena_printf(arena,
                                   "select * from (%s) q order by q.%s%.*s %s nulls last, q.%s %s"
                                   " limit $%u offset $%u",
                                   page->text,
                                   order_column,
                                   STR_ARG(page_collate(arena, page, column, collation)),
                                   direction,
                                   tie_breaker(arena, page),
                                   direction,
                                   page->arity + 1,
                                   page->arity + 2);
    struct sql *sql = page_wrap(arena, page, text.ptr);
    sql->arity = page->arity + 2;
    sql->kind = SQL_MANY;
    return sql;
}

struct sql *db_sql_count(struct arena *arena, const struct sql *page)
{
    struct str text = arena_printf(arena, "select count(*) as total_items from (%s) q", page->text);
    struct sql *sql = page_wrap(arena, page, text.ptr);

    sql->kind = SQL_ONE;
    sql->row = NULL;
    return sql;
}
