/*
 * All matching records as CSV (RFC 4180, a header row of field names) or JSON Lines, a piece at a
 * time. Spreadsheets run cells that begin like a formula: text cells beginning with = + - @ or a
 * control character get an apostrophe in front, in CSV only.
 */
#include <string.h>

#include "records/columns.h"
#include "records/error.h"
#include "records/filter.h"
#include "records/sort.h"

#define PIECE_BYTES  ((size_t)64 * 1024)        /* sent on when this much is collected */
#define BUFFER_BYTES ((size_t)64 * 1024 * 1024) /* one record is never larger */
#define EXPORT_MS    ((int64_t)30 * 60 * 1000)

struct export
{
    struct records *ctx;
    const struct query *query;
    bool csv;
    records_sink_fn sink;
    void *arg;
    struct columns plan;
    struct strbuf piece; /* reused */
    bool sent;           /* the receiver has something: no second try */
    int sink_rc;
};

/* --- pieces --- */

AWAITS static int flush(struct export *export)
{
    if (export->piece.overflow)
        return records_fail(export->ctx, "internal", "A record is too large to be exported.");
    if (export->piece.len == 0)
        return 0;
    export->sent = true;
    export->sink_rc = export->sink(strbuf_view(&export->piece), export->arg);
    export->piece.len = 0;
    return export->sink_rc;
}

static void put_quoted(struct strbuf *out, struct str text)
{
    strbuf_char(out, '"');
    while (text.ptr != NULL) {
        strbuf_str(out, str_split(&text, '"'));
        strbuf_str(out, text.ptr != NULL ? STR("\"\"") : STR("\""));
    }
}

static bool needs_quotes(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (strchr("\",\r\n", text.ptr[i]) != NULL)
            return true;
    return text.len > 0 && (text.ptr[0] == ' ' || text.ptr[text.len - 1] == ' ');
}

static void put_cell(struct strbuf *out, struct str text)
{
    if (needs_quotes(text))
        put_quoted(out, text);
    else
        strbuf_str(out, text);
}

/* "=1+1" as "'=1+1": shown, never run. */
static void put_text_cell(struct strbuf *out, struct str text)
{
    if (text.len > 0 && strchr("=+-@\t\r\n", text.ptr[0]) != NULL)
        text = arena_printf(out->arena, "'%.*s", STR_ARG(text));
    put_cell(out, text);
}

/* A value other than text, as JSON writes it but without quotes around it. */
static void put_value_cell(struct strbuf *out,
                           struct strbuf *scratch,
                           const struct model_field *field,
                           const struct rows *rows,
                           size_t row,
                           size_t column)
{
    struct jw w;

    scratch->len = 0;
    jw_init(&w, scratch);
    columns_value(&w, field, rows, row, column);
    struct str text = strbuf_view(scratch);
    if (field->type != TYPE_JSON && text.len >= 2 && text.ptr[0] == '"')
        text = (struct str){text.ptr + 1, text.len - 2};
    put_cell(out, text);
}

static bool is_text(const struct model_field *field)
{
    return field->type == TYPE_VARCHAR || field->type == TYPE_TEXT || field->type == TYPE_ENUM;
}

/* --- rows --- */

static void put_header(struct strbuf *out, const struct columns *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (i > 0)
            strbuf_char(out, ',');
        strbuf_str(out, plan->fields[i]->name);
    }
    strbuf_str(out, STR("\r\n"));
}

/* Of a secret the statement says only whether there is one. */
static bool
has_no_value(const struct model_field *field, const struct rows *rows, size_t row, size_t column)
{
    if (field->type == TYPE_SECRET)
        return !rows_bool(rows, row, column);
    return rows_null(rows, row, column);
}

static void
put_csv(struct export *export, struct strbuf *scratch, const struct rows *rows, size_t row)
{
    const struct columns *plan = &export->plan;
    size_t column = COLUMNS_FIRST;

    for (size_t i = 0; i < plan->count; i++) {
        const struct model_field *field = plan->fields[i];
        size_t at = field == &plan->entity->fields[0] ? COLUMNS_ID : column++;
        if (i > 0)
            strbuf_char(&export->piece, ',');
        if (!field->many && has_no_value(field, rows, row, at))
            continue;
        if (is_text(field))
            put_text_cell(&export->piece, rows_str(rows, row, at));
        else
            put_value_cell(&export->piece, scratch, field, rows, row, at);
    }
    strbuf_str(&export->piece, STR("\r\n"));
}

static void put_json_line(struct export *export, const struct rows *rows, size_t row)
{
    struct jw w;

    jw_init(&w, &export->piece);
    columns_json(&w, &export->plan, rows, row);
    strbuf_char(&export->piece, '\n');
}

/* Memory of a piece dies with it: the buffers are in an arena of its own, the collected text is
 * not. */
AWAITS static int on_rows(const struct rows *rows, void *arg)
{
    struct export *export = arg;
    struct arena *arena = arena_new(0);
    struct strbuf scratch;
    int rc = 0;

    strbuf_init(&scratch, arena, BUFFER_BYTES);
    strbuf_init(&export->piece, arena, BUFFER_BYTES);
    if (export->csv && !export->sent)
        put_header(&export->piece, &export->plan);
    for (size_t row = 0; row < rows->count && rc == 0; row++) {
        if (export->csv)
            put_csv(export, &scratch, rows, row);
        else
            put_json_line(export, rows, row);
        if (export->piece.overflow || export->piece.len >= PIECE_BYTES)
            rc = flush(export);
    }
    if (rc == 0)
        rc = flush(export);
    arena_free(arena);
    return rc;
}

AWAITS static int send_empty(struct export *export)
{
    strbuf_init(&export->piece, export->ctx->task->arena, BUFFER_BYTES);
    put_header(&export->piece, &export->plan);
    return flush(export);
}

AWAITS static int export_once(struct records *ctx, const struct entity *entity, void *arg)
{
    static const char *const known[] = {"filter", "sort", "order", "fields", "format"};
    struct export *export = arg;
    struct arena *arena = ctx->task->arena;
    struct filter *filter = NULL;
    struct sort sort;
    struct strbuf text;
    struct sql_params params;

    TRY(records_query_check(ctx, export->query, known, ARRAY_LEN(known)));
    TRY(columns_plan(ctx, entity, export->query, &export->plan));
    TRY(filter_parse(ctx, entity, export->query, &filter));
    TRY(sort_parse(ctx, entity, export->query, &sort));
    strbuf_init(&text, arena, RECORDS_SQL_BYTES);
    sql_params_init(&params, arena);
    strbuf_str(&text, STR("select "));
    columns_sql(ctx, &export->plan, "t", &text, &params);
    strbuf_printf(&text, " from {p}.%.*s t where true", STR_ARG(entity->table));
    (void)rls_where(ctx, entity, ACT_READ, "t", &text, &params);
    filter_where(ctx, filter, "t", &text, &params);
    sort_order(ctx, &sort, "t", &text, &params);
    struct sql *sql = sql_dynamic(ctx, "records.export", &text, params.count, SQL_MANY);
    int rc =
        db_each(ctx->task, ctx->db, sql, params.items, params.count, EXPORT_MS, on_rows, export);
    if (export->sink_rc != 0)
        return export->sink_rc;
    if (rc == RECORDS_FAILED && ctx->error.code != NULL)
        return rc;
    rc = records_db(ctx, entity, rc);
    if (rc == RECORDS_SCHEMA && export->sent)
        return records_fail(ctx, "dependency_unavailable", "The data model changed meanwhile.");
    if (rc == 0 && export->csv && !export->sent)
        return send_empty(export);
    return rc;
}

int records_export(struct records *ctx,
                   const struct entity *entity,
                   const struct query *query,
                   bool csv,
                   records_sink_fn sink,
                   void *arg)
{
    struct export *export = ARENA_NEW(ctx->task->arena, export);

    *export = (struct export){.ctx = ctx, .query = query, .csv = csv, .sink = sink, .arg = arg};
    return records_run(ctx, entity, export_once, export);
}
