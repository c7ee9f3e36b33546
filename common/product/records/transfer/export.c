/*
 * Exports all matching records as CSV (RFC 4180, a header row of field names) or JSON Lines, page
 * by page along the sort keys. Each page is a statement of its own, bounded in bytes, and no
 * connection is held while the receiver takes the page. Each record is exported as it is when its
 * page is read. A record that is written during the export appears once, unless the write moves it
 * in the sort order. In CSV, null is nothing between two separators and the empty text is two
 * quotes, as in PostgreSQL's COPY. Texts that spreadsheets would run are guarded (cell.h).
 */
#include <string.h>

#include "base/ascii.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/timezone.h"
#include "db/answer.h"
#include "records/query/cursor.h"
#include "records/query/filter.h"
#include "records/query/sort.h"
#include "records/read/columns.h"
#include "records/rules/error.h"
#include "records/rules/rls.h"
#include "records/rules/statement.h"
#include "records/transfer/cell.h"

#define PAGE_BYTES       ((size_t)96 * 1024)        /* rows of one statement */
#define CHUNK_BYTES_SENT ((size_t)24 * 1024)        /* sent when this much is collected */
#define BUFFER_BYTES     ((size_t)64 * 1024 * 1024) /* a record is never larger than the buffer */
#define PAGE_MS          ((int64_t)10 * 60 * 1000)
#define PAGE_FIRST       16
#define PAGE_ROWS        4096
#define BUSY_MS          100 /* before a page is retried after DB_BUSY */

struct export
{
    struct records_ctx *ctx;
    const struct csv_style *csv; /* NULL = JSON Lines */
    char separator;
    records_sink_fn sink;
    void *arg;
    struct columns plan;
    struct filter *filter;
    struct sort sort;
    struct cursor cursor;       /* after the last record that was read */
    struct arena *cursor_arena; /* holds the cursor's values */
    int64_t limit;              /* maximum number of records in the next page */
    bool has_more;
    struct strbuf buffer;
    bool is_started; /* the receiver has data: the export cannot begin again */
    int sink_rc;
};

/* --- chunks --- */

AWAITS static int export_flush(struct export *export)
{
    if (export->buffer.overflow)
        return records_fail(export->ctx, PROBLEM_INTERNAL, "A record is too large to be exported.");
    if (export->buffer.len == 0)
        return 0;
    struct str rest = strbuf_view(&export->buffer);
    export->is_started = true;
    /* Small portions, because bytes that the receiver's socket does not take are copied. */
    while (rest.len > 0 && export->sink_rc == 0) {
        struct str portion = {rest.ptr, rest.len < CHUNK_BYTES_SENT ? rest.len : CHUNK_BYTES_SENT};
        export->sink_rc = export->sink(portion, export->arg);
        rest = (struct str){rest.ptr + portion.len, rest.len - portion.len};
    }
    export->buffer.len = 0;
    return export->sink_rc;
}

static void export_put_quoted(struct strbuf *out, struct str text)
{
    strbuf_char(out, '"');
    while (text.ptr != NULL) {
        strbuf_str(out, str_split(&text, '"'));
        strbuf_str(out, text.ptr != NULL ? STR("\"\"") : STR("\""));
    }
}

static bool needs_quotes(const struct export *export, struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == export->separator || ascii_is_in(text.ptr[i], "\"\r\n"))
            return true;
    return text.len == 0 || text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' ';
}

static void export_put_cell(struct export *export, struct str text)
{
    if (needs_quotes(export, text))
        export_put_quoted(&export->buffer, text);
    else
        strbuf_str(&export->buffer, text);
}

/* Writes "=1+1" as "'=1+1", which a spreadsheet shows and does not run. */
static void export_put_text_cell(struct export *export, struct str text)
{
    if (cell_is_guarded(text))
        text = arena_printf(export->buffer.arena, "'%.*s", STR_ARG(text));
    export_put_cell(export, text);
}

/* Converts a time into the time zone of the project. */
static struct str local_moment(const struct project *project, struct str moment, char *buf)
{
    const struct timezone_rules *zone = NULL;
    int64_t wall_ms;

    if (project->settings.timezone.len > 0)
        zone = timezone_find(project->settings.timezone);
    if (zone == NULL || !clock_parse(moment, &wall_ms))
        return moment;
    int64_t offset_s = timezone_span(zone, floor_div(wall_ms, 1000)).offset;
    return str_from(clock_format(buf, wall_ms + offset_s * 1000));
}

/* Returns the text in the style of the export, in `text`, which may be changed, or in `buffer`. */
static struct str export_style_text(const struct export *export,
                                    enum model_type type,
                                    char *text,
                                    size_t len,
                                    struct cell_text *buffer)
{
    enum csv_dates dates = export->csv->dates;
    char buf[CLOCK_TEXT_BYTES];
    struct str plain = {text, len};

    if (model_type_info(type)->traits & TRAIT_NUMBER) {
        for (size_t i = 0; export->csv->has_decimal_comma && i < len; i++)
            if (text[i] == '.')
                text[i] = ',';
        return plain;
    }
    if ((model_type_info(type)->traits & TRAIT_CALENDAR) == 0 || dates == CSV_DATES_ISO)
        return plain;
    if (type == TYPE_DATETIME)
        plain = local_moment(export->ctx->project, plain, buf);
    return cell_moment_print(plain, dates, buffer);
}

/* Writes a value other than text as JSON, without the quotes around the value. */
static void export_put_value_cell(struct export *export,
                                  struct strbuf *scratch,
                                  const struct model_field *field,
                                  const struct rows *rows,
                                  size_t row,
                                  size_t column)
{
    struct jw w;

    scratch->len = 0;
    jw_init(&w, scratch);
    columns_write_value(&w, field, rows, row, column);
    struct cell_text buffer;
    bool quoted = field->type != TYPE_JSON && scratch->len >= 2 && scratch->ptr[0] == '"';
    char *text = scratch->ptr + quoted;
    export_put_cell(
        export,
        export_style_text(export, field->type, text, scratch->len - 2 * (size_t)quoted, &buffer));
}

static bool export_is_text(const struct model_field *field)
{
    return model_type_info(field->type)->print == PRINT_TEXT;
}

/* --- rows --- */

static void export_put_header(struct export *export)
{
    const struct columns *plan = &export->plan;
    struct strbuf *out = &export->buffer;

    if (export->csv->has_bom)
        strbuf_str(out, STR("\xef\xbb\xbf"));
    for (size_t i = 0; i < plan->count; i++) {
        if (i > 0)
            strbuf_char(out, export->separator);
        strbuf_str(out, plan->fields[i]->name);
    }
    strbuf_str(out, STR("\r\n"));
}

/* The statement selects no secret, only whether the secret is set. */
static bool
has_no_value(const struct model_field *field, const struct rows *rows, size_t row, size_t column)
{
    if (field->type == TYPE_SECRET)
        return !rows_bool(rows, row, column);
    return rows_null(rows, row, column);
}

static void export_put_csv_row(struct export *export,
                               struct strbuf *scratch,
                               const struct rows *rows,
                               size_t row)
{
    const struct columns *plan = &export->plan;
    size_t column = COLUMNS_FIRST;

    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        size_t at = columns_at(plan, i, &column);
        if (i > 0)
            strbuf_char(&export->buffer, export->separator);
        if (!field->is_many && has_no_value(field, rows, row, at))
            continue;
        if (export_is_text(field))
            export_put_text_cell(export, rows_str(rows, row, at));
        else
            export_put_value_cell(export, scratch, field, rows, row, at);
    }
    strbuf_str(&export->buffer, STR("\r\n"));
}

AWAITS static int export_put_json_line(struct export *export, const struct rows *rows, size_t row)
{
    struct jw w;

    jw_init(&w, &export->buffer);
    TRY(columns_json(export->ctx->task, &w, &export->plan, rows, row));
    strbuf_char(&export->buffer, '\n');
    return 0;
}

/* co: Flushes. A record larger than a page counts as answer memory until the receiver has it. */
AWAITS static int export_flush_counted(struct export *export)
{
    size_t large = export->buffer.len > PAGE_BYTES ? export->buffer.len : 0;

    db_answer_hold(export->ctx->task, large);
    int rc = export_flush(export);
    db_answer_release(export->ctx->task, large);
    return rc;
}

/* Moves the cursor after the last row, where the next page begins. */
static void export_move_cursor(struct export *export, const struct rows *rows)
{
    struct arena *before = export->cursor_arena;
    size_t column = rows->columns - export->sort.count;

    export->cursor_arena = arena_new(0);
    export->cursor.has_position = true;
    for (size_t i = 0; i < export->sort.count; i++) {
        struct str value = rows_str(rows, rows->count - 1, column + i);
        export->cursor.values[i] =
            value.ptr != NULL ? arena_dup(export->cursor_arena, value) : STR_NONE;
    }
    arena_free(before);
}

/* Adapts the next page to as many records as fit, without reading many more. */
static void export_choose_limit(struct export *export, const struct rows *rows)
{
    export->has_more = rows->is_truncated || (int64_t)rows->count == export->limit;
    if (rows->is_truncated)
        export->limit = (int64_t)rows->count;
    else if (export->limit < PAGE_ROWS)
        export->limit *= 2;
}

/* co: Sends the rows of a page, with memory that is freed afterwards. */
AWAITS static int export_send_rows(const struct rows *rows, void *arg)
{
    struct export *export = arg;
    struct arena *arena = arena_new(0);
    struct strbuf scratch;
    int rc = 0;

    export_choose_limit(export, rows);
    if (rows->count > 0)
        export_move_cursor(export, rows);
    strbuf_init(&scratch, arena, BUFFER_BYTES);
    strbuf_init(&export->buffer, arena, BUFFER_BYTES);
    if (export->csv != NULL && !export->is_started)
        export_put_header(export);
    for (size_t row = 0; row < rows->count && rc == 0; row++) {
        if (export->csv != NULL)
            export_put_csv_row(export, &scratch, rows, row);
        else
            rc = export_put_json_line(export, rows, row);
        if (rc == 0)
            rc = task_yield_if_due(export->ctx->task);
        if (rc != 0)
            break;
        if (export->buffer.overflow || export->buffer.len >= CHUNK_BYTES_SENT)
            rc = export_flush_counted(export);
    }
    if (rc == 0)
        rc = export_flush(export);
    arena_free(arena);
    return rc;
}

static void export_free_cursor(void *arg)
{
    struct export *export = arg;

    arena_free(export->cursor_arena);
    export->cursor_arena = NULL;
}

/* The sink allocates for the whole request, so it must run with the request's arena. */
struct page_call {
    struct export *export;
    struct arena *page, *request;
};

AWAITS static int export_on_page(const struct rows *rows, void *arg)
{
    struct page_call *call = arg;
    struct task *task = call->export->ctx->task;

    task->arena = call->request;
    int rc = export_send_rows(rows, call->export);
    task->arena = call->page;
    return rc;
}

/* co: Reads one page, in the arena that the task has now. */
AWAITS static int
export_read_page(struct export *export, const struct entity *entity, struct page_call *call)
{
    struct records_ctx *ctx = export->ctx;
    const struct db_chunk chunk = {
        .bytes = PAGE_BYTES, .timeout_ms = PAGE_MS, .fn = export_on_page, .arg = call};
    struct strbuf text;
    struct sql_params params;

    sql_start(ctx->task->arena, &text, &params);
    strbuf_str(&text, STR("select "));
    columns_sql(ctx, &export->plan, "t", &text, &params);
    cursor_put_select(ctx, &export->sort, "t", &text, &params);
    strbuf_printf(&text, " from {p}.%.*s t where true", STR_ARG(entity->table));
    (void)rls_put_where(ctx, entity, ACT_READ, "t", &text, &params);
    filter_put_where(ctx, export->filter, "t", &text, &params);
    cursor_put_where(ctx, &export->cursor, &export->sort, "t", &text, &params);
    sort_put_order(ctx, &export->sort, "t", &text, &params);
    strbuf_printf(&text, " limit %lld", (long long)export->limit);
    struct sql *sql = sql_dynamic(ctx, "records.export", &text, params.count, SQL_MANY);
    sql->no_prepare = true; /* the text of each page is different */
    return db_chunk(ctx->task, ctx->db, sql, params.items, params.count, &chunk);
}

static void free_page(void *arena)
{
    arena_free(arena);
}

/* co: Reads one page in an arena of its own. */
AWAITS static int export_next_page(struct export *export, const struct entity *entity)
{
    struct task *task = export->ctx->task;
    struct page_call call = {export, arena_new(0), task->arena};

    task->arena = call.page;
    int rc = export_read_page(export, entity, &call);
    task->arena = call.request;
    if (rc > 0) /* the error is in this arena */
        arena_defer(call.request, free_page, call.page);
    else
        arena_free(call.page);
    return rc;
}

/* co: Reads all pages. On a busy database the first page fails; later pages wait and try again. */
AWAITS static int export_read_pages(struct export *export, const struct entity *entity)
{
    int rc = 0;

    export->limit = PAGE_FIRST;
    export->has_more = true;
    while (export->has_more && rc == 0) {
        rc = export_next_page(export, entity);
        struct backoff pause = {.first_ms = BUSY_MS, .most_ms = INT64_C(2) * BUSY_MS};
        while (rc == DB_BUSY && export->is_started && export->sink_rc == 0) {
            TRY(task_sleep(export->ctx->task, backoff_next(&pause)));
            rc = export_next_page(export, entity);
        }
    }
    return rc;
}

AWAITS static int export_send_empty(struct export *export)
{
    strbuf_init(&export->buffer, export->ctx->task->arena, BUFFER_BYTES);
    export_put_header(export);
    return export_flush(export);
}

int records_export(struct records_ctx *ctx,
                   const struct entity *entity,
                   const struct records_query *query,
                   const struct csv_style *csv,
                   records_sink_fn sink,
                   void *arg)
{
    struct export *export = ARENA_NEW(ctx->task->arena, export);

    *export = (struct export){
        .ctx = ctx, .csv = csv, .sink = sink, .arg = arg, .cursor = {.is_requested = true}};
    export->separator = csv != NULL && csv->separator != 0 ? csv->separator : ',';
    arena_defer(ctx->task->arena, export_free_cursor, export);
    TRY(columns_plan(ctx, entity, query->fields, &export->plan));
    TRY(filter_plan(ctx, entity, &query->filter, &export->filter));
    TRY(sort_plan(ctx, entity, query, &export->sort));
    int rc = export_read_pages(export, entity);
    if (export->sink_rc != 0)
        return export->sink_rc;
    if (rc == RECORDS_FAILED && ctx->error.code != PROBLEM_NONE)
        return rc;
    rc = records_db_result(ctx, entity, rc);
    if (rc == RECORDS_SCHEMA && export->is_started)
        return records_fail(ctx,
                            PROBLEM_DEPENDENCY_UNAVAILABLE,
                            "The data model changed during the export; export again.");
    if (rc == 0 && csv != NULL && !export->is_started)
        return export_send_empty(export);
    return rc;
}
