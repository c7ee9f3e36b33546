/*
 * Versions of a record. A history row describes the change that made a version, and contains the
 * record before that change. The content of a version is therefore in the next newer row, or is the
 * live record.
 */
#include "records/history.h"

#include "records/read/history_state.h"
#include "records/rules/error.h"

/* Columns of a history row, before those of the plan. */
enum { ROW_VERSION, PAST_ACTION, PAST_AT, PAST_ACTOR, PAST_TOTAL, PAST_OLDEST, PAST_FIRST };

/* One page of the versions of a record. */
struct history_page {
    struct history_plan plan;
    int64_t id;
    const struct page *page;
    struct rows live; /* the record as it is now; empty if it was deleted */
    struct rows rows; /* history rows, newest first, beginning with row number `from` of all */
    int64_t from;
    int64_t total;              /* history rows on all pages */
    bool oldest_is_restoration; /* the oldest row is a restoration: there is no version before it */
};

/* --- reads --- */

static void
history_put_rows(const struct history_page *history, struct strbuf *sql, struct sql_params *params)
{
    const struct entity *entity = history->plan.entity;

    strbuf_printf(sql, " from {p}.h_%lld k where k.record_id = ", (long long)entity->id);
    sql_bind(sql, params, P_I64(history->id), "bigint");
    history_put_retained(entity, "k", sql);
}

/* co: reads the history rows of the page. A page that does not begin with the newest row reads the
 * row before it as well, which has the content of the page's first version. If there are no rows,
 * the left join still returns one row of nulls with the total. */
AWAITS static int history_read_rows(struct records_ctx *ctx, struct history_page *history)
{
    int64_t offset = page_offset(history->page);
    struct sql_params params;
    struct strbuf sql;

    history->from = offset > 0 ? offset - 1 : 0;
    sql_start(ctx->task->arena, &sql, &params);
    strbuf_str(&sql, STR("select h.version, h.action, h.at, h.actor_id, c.total, c.oldest"));
    history_put_fields(ctx, &history->plan, false, &sql, &params);
    strbuf_str(&sql,
               STR(" from (select count(*) as total,"
                   " (array_agg(k.action order by k.version))[1] as oldest"));
    history_put_rows(history, &sql, &params);
    strbuf_str(
        &sql, STR(") c left join lateral (select k.version, k.action, k.at, k.actor_id, k.before"));
    history_put_rows(history, &sql, &params);
    strbuf_str(&sql, STR(" order by k.version desc limit "));
    sql_bind(&sql, &params, P_I64(history->page->limit + (offset > 0)), "bigint");
    strbuf_str(&sql, STR(" offset "));
    sql_bind(&sql, &params, P_I64(history->from), "bigint");
    strbuf_str(&sql, STR(") h on true"));
    history_put_document("h.before", &sql);
    strbuf_str(&sql, STR(" order by h.version desc"));
    TRY(history_query(ctx, history->plan.entity, "history.past", &sql, &params, &history->rows));
    history->total = rows_i64(&history->rows, 0, PAST_TOTAL);
    history->oldest_is_restoration = rows_i64(&history->rows, 0, PAST_OLDEST) == HISTORY_RESTORED;
    if (rows_null(&history->rows, 0, ROW_VERSION))
        history->rows.count = 0;
    return 0;
}

/* --- one version --- */

/* The index of history row number `n`; false if it was not read. */
static bool history_row_index(const struct history_page *history, int64_t n, size_t *ret_row)
{
    *ret_row = (size_t)(n - history->from);
    return n >= history->from && n - history->from < (int64_t)history->rows.count;
}

/* The content of `version`: the record before history row `n`, if that row made `version` + 1. If n
 * < 0, the live record, if it has this version. */
static struct history_state
version_state(const struct history_page *history, int64_t n, int64_t version)
{
    struct history_state none = {.rows = NULL};
    size_t row;

    if (n < 0) {
        if (history->live.count > 0 && rows_i64(&history->live, 0, 0) == version)
            return (struct history_state){&history->live, 0, 1};
        return none;
    }
    if (!history_row_index(history, n, &row) ||
        rows_i64(&history->rows, row, ROW_VERSION) != version + 1 ||
        rows_i64(&history->rows, row, PAST_ACTION) == HISTORY_RESTORED)
        return none;
    return (struct history_state){&history->rows, row, PAST_FIRST};
}

/* Writes the names of fields that differ between two states. A field that is missing in a state did
 * not exist then. */
static void put_changed(struct jw *w,
                        const struct history_plan *plan,
                        const struct history_state *before,
                        const struct history_state *after)
{
    jw_lit(w, "changed");
    jw_arr(w);
    for (size_t i = 0; before->rows != NULL && after->rows != NULL && i < plan->count; i++) {
        struct str was = history_state_text(before, i);
        struct str is = history_state_text(after, i);
        if (!plan->fields[i]->system && was.ptr != NULL && is.ptr != NULL && !str_eq(was, is))
            jw_str(w, plan->fields[i]->name);
    }
    jw_arr_end(w);
}

static const char *action_name(int64_t action)
{
    switch (action) {
    case HISTORY_DELETED:
        return "deleted";
    case HISTORY_RESTORED:
        return "restored";
    default:
        return "updated";
    }
}

/* co: writes the version that history row `n` made. */
AWAITS static int put_change(struct records_ctx *ctx,
                             const struct history_page *history,
                             int64_t n,
                             size_t row,
                             struct jw *w)
{
    const struct rows *rows = &history->rows;
    int64_t version = rows_i64(rows, row, ROW_VERSION);
    int64_t action = rows_i64(rows, row, PAST_ACTION);
    struct history_state before = {rows, row, PAST_FIRST};
    struct history_state after = {.rows = NULL};

    if (action != HISTORY_DELETED)
        after = version_state(history, n - 1, version);
    if (action == HISTORY_RESTORED)
        before.rows = NULL;
    jw_obj(w);
    JW_I64(w, "version", version);
    JW_CSTR(w, "action", action_name(action));
    jw_lit(w, "at");
    jw_time(w, rows_time(rows, row, PAST_AT));
    jw_lit(w, "by");
    if (rows_null(rows, row, PAST_ACTOR))
        jw_null(w);
    else
        jw_i64(w, rows_i64(rows, row, PAST_ACTOR));
    put_changed(w, &history->plan, &before, &after);
    jw_lit(w, "record");
    TRY(history_put_state(ctx, w, &history->plan, history->id, &after));
    jw_obj_end(w);
    return 0;
}

/* Writes a member that the service sets, as it was; null if unknown. */
static void put_member(struct jw *w,
                       const char *name,
                       const struct history_plan *plan,
                       const struct history_state *state,
                       const char *member)
{
    jw_lit(w, name);
    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        struct str text = history_state_text(state, i);
        if (!field->system || !str_is(field->name, member) || text.ptr == NULL)
            continue;
        history_put_value(w, field, text);
        return;
    }
    jw_null(w);
}

/* co: writes the oldest version. No row describes its change: version 1 is the creation, of any
 * other the change is unknown. */
AWAITS static int
put_oldest(struct records_ctx *ctx, const struct history_page *history, struct jw *w)
{
    struct history_state state = {.rows = NULL};
    int64_t version = 0;
    size_t row;

    if (history->total == 0 && history->live.count > 0)
        version = rows_i64(&history->live, 0, 0);
    else if (history->total > 0 && history_row_index(history, history->total - 1, &row))
        version = rows_i64(&history->rows, row, ROW_VERSION) - 1;
    state = version_state(history, history->total - 1, version);
    jw_obj(w);
    JW_I64(w, "version", version);
    JW_CSTR(w, "action", version == 1 ? "created" : "kept");
    put_member(w, "at", &history->plan, &state, version == 1 ? "created_at" : "updated_at");
    if (version == 1)
        put_member(w, "by", &history->plan, &state, "created_by");
    else
        JW_NULL(w, "by");
    jw_lit(w, "changed");
    jw_arr(w);
    jw_arr_end(w);
    jw_lit(w, "record");
    TRY(history_put_state(ctx, w, &history->plan, history->id, &state));
    jw_obj_end(w);
    return 0;
}

AWAITS static int
put_version(struct records_ctx *ctx, const struct history_page *history, int64_t n, struct jw *w)
{
    size_t row;

    if (n == history->total)
        return put_oldest(ctx, history, w);
    return history_row_index(history, n, &row) ? put_change(ctx, history, n, row, w) : 0;
}

int records_history(struct records_ctx *ctx,
                    const struct entity *entity,
                    int64_t id,
                    const struct page *page,
                    struct strbuf *out)
{
    struct history_page history = {.id = id, .page = page};
    int64_t deleted;
    struct jw w;

    TRY(history_plan(ctx, entity, &history.plan));
    TRY(history_find(ctx, &history.plan, ACT_READ, id, &history.live, &deleted));
    TRY(history_read_rows(ctx, &history));

    int64_t versions = history.total + !history.oldest_is_restoration;
    int64_t end = page_offset(page) + page->limit;
    jw_init(&w, out);
    jw_obj(&w);
    jw_lit(&w, "items");
    jw_arr(&w);
    for (int64_t n = page_offset(page); n < end && n < versions; n++)
        TRY(put_version(ctx, &history, n, &w));
    jw_arr_end(&w);
    page_json(&w, page, page->count ? versions : -1, end < versions);
    jw_obj_end(&w);
    return records_check_size(ctx, out);
}
