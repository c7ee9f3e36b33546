/* SQL for handlers: statements on r->scope->db whose failures are put into the response. */
#include <string.h>

#include "app/daemon.h"
#include "app/reply.h"
#include "http/resp.h"
#include "project/project.h"

static int check_result(struct req *r, int rc)
{
    return sql_check(r, rc);
}

int sql_one(struct req *r,
            struct rows *ret_rows,
            const struct sql *sql,
            const struct db_param *params,
            size_t count)
{
    struct rows rows;

    TRY(check_result(r, db_query(&r->task, r->scope->db, sql, params, count, &rows)));
    if (!rows.count)
        return fail(r, PROBLEM_NOT_FOUND, NULL);
    *ret_rows = rows;
    return 0;
}

int sql_all(struct req *r,
            struct rows *ret_rows,
            const struct sql *sql,
            const struct db_param *params,
            size_t count)
{
    return check_result(r, db_query(&r->task, r->scope->db, sql, params, count, ret_rows));
}

int sql_exec(struct req *r,
             int64_t *ret_affected,
             const struct sql *sql,
             const struct db_param *params,
             size_t count)
{
    struct rows rows;

    TRY(check_result(r, db_query(&r->task, r->scope->db, sql, params, count, &rows)));
    if (ret_affected)
        *ret_affected = rows.affected;
    return 0;
}

int sql_batch(struct req *r, struct db_call *calls, size_t count)
{
    return check_result(r, db_batch(&r->task, r->scope->db, calls, count, NULL));
}

static int use_transaction(struct req *r, struct db *tx)
{
    r->scope->db = tx;
    return r->scope->begin_hook ? r->scope->begin_hook(r) : 0;
}

int sql_begin(struct req *r)
{
    struct db *tx;

    TRY(check_result(r, db_begin(&r->task, r->scope->db, &tx)));
    return use_transaction(r, tx);
}

int sql_begin_ddl(struct req *r)
{
    struct db *tx;

    TRY(check_result(r, db_begin_ddl(&r->task, r->scope->db, &tx)));
    return use_transaction(r, tx);
}

int sql_run_begin_hook(struct req *r, struct db *tx)
{
    struct db *outside = r->scope->db;

    if (!r->scope->begin_hook)
        return 0;
    r->scope->db = tx;
    int rc = r->scope->begin_hook(r);
    r->scope->db = outside;
    return rc;
}

int sql_commit(struct req *r)
{
    struct db *tx = r->scope->db;

    r->scope->db = &r->scope->project->db;
    int rc = db_commit(&r->task, tx);
    if (rc == 0)
        r->scope->begin_hook = NULL;
    if (rc == DB_UNKNOWN) /* perhaps committed, so all processes must reload the project */
        project_epoch_raise(&r->task, daemon_app()->directory, r->scope->project);
    return check_result(r, rc);
}

/* Splits "-created_at" or "created_at" into column and direction. Returns false when the
 * statement's list lacks the column. */
static bool
sort_column(const struct sql *sql, struct str text, struct str *ret_column, bool *ret_descending)
{
    struct str list = str_from(sql->sort);

    if (text.len && text.ptr[0] == '-') {
        *ret_descending = true;
        text = (struct str){text.ptr + 1, text.len - 1};
    }
    while (list.ptr) {
        struct str column = str_split(&list, ',');
        if (column.len && str_eq(column, text)) {
            *ret_column = column;
            return true;
        }
    }
    return false;
}

AWAITS static int page_rows(struct req *r,
                            const struct page *page,
                            reply_row_fn show,
                            const struct rows *rows,
                            const struct rows *total)
{
    size_t shown = rows->count > (size_t)page->limit ? (size_t)page->limit : rows->count;

    for (size_t i = 0; show && i < shown; i++) {
        show(r, rows, i);
        task_pause_if_due(&r->task);
    }
    struct jw w = resp_json(r);
    jw_obj(&w);
    jw_lit(&w, "items");
    rows_json_array(&r->task, &w, rows, shown);
    page_json(&w, page, total ? rows_i64(total, 0, 0) : -1, rows->count > (size_t)page->limit);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* The operator's lists belong to no project and have no language. */
static struct str page_collation(const struct req *r)
{
    const struct project *project = r->scope->project;

    return project != NULL ? project->settings.collation : STR("");
}

int reply_page(struct req *r,
               const char *default_sort,
               const struct sql *sql,
               const struct db_param *params,
               size_t count)
{
    return reply_page_masked(r, default_sort, NULL, sql, params, count);
}

int reply_page_masked(struct req *r,
                      const char *default_sort,
                      reply_row_fn show,
                      const struct sql *sql,
                      const struct db_param *params,
                      size_t count)
{
    struct page page;
    struct str column = STR_NONE;
    bool descending = false;
    struct db_param *paged = ARENA_ARRAY(r->task.arena, paged, count + 2);

    TRY(req_page(r, &page));
    if (!page.sort.len)
        page.sort = str_from(default_sort);
    else
        descending = page.descending;
    if (!sort_column(sql, page.sort, &column, &descending))
        return fail_with(r,
                         PROBLEM_INVALID_QUERY,
                         arena_printf(r->task.arena,
                                      "Query parameter 'sort': this list sorts by %s.",
                                      sql->sort),
                         NULL);
    if (count)
        memcpy(paged, params, count * sizeof(*params));
    paged[count] = P_I64(page.limit + 1);
    paged[count + 1] = P_I64(page_offset(&page));

    struct db_call calls[2] = {
        {.sql = db_sql_page(
             r->task.arena, sql, arena_cstr(r->task.arena, column), descending, page_collation(r)),
         .params = paged,
         .param_count = count + 2},
        {.sql = db_sql_count(r->task.arena, sql), .params = params, .param_count = count},
    };
    TRY(sql_batch(r, calls, page.count ? 2 : 1));
    return page_rows(r, &page, show, &calls[0].rows, page.count ? &calls[1].rows : NULL);
}
