/*
 * Rows as JSON by column type. Every list is written here, so a value is copied as it is wherever
 * PostgreSQL's text is already JSON.
 */
#include <libpq-fe.h>
#include <string.h>

#include "base/panic.h"
#include "db/rows.h"
#include "db/rows_json_private.h"
#include "db/rows_private.h"

/* Type numbers of pg_type, the same in all versions of PostgreSQL. */
enum {
    OID_BOOL = 16,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_OID = 26,
    OID_JSON = 114,
    OID_FLOAT4 = 700,
    OID_FLOAT8 = 701,
    OID_BOOLS = 1000,
    OID_INT2S = 1005,
    OID_INT4S = 1007,
    OID_TEXTS = 1009,
    OID_VARCHARS = 1015,
    OID_INT8S = 1016,
    OID_FLOAT4S = 1021,
    OID_FLOAT8S = 1022,
    OID_DATE = 1082,
    OID_TIMESTAMP = 1114,
    OID_TIMESTAMPTZ = 1184,
    OID_NUMERICS = 1231,
    OID_NUMERIC = 1700,
    OID_UUIDS = 2951,
    OID_JSONB = 3802,
};

size_t time_text(char buf[TIME_TEXT_BYTES], struct str text)
{
    /* "YYYY-MM-DD hh:mm:ss", a fraction of 1 to 6 digits or none, "+00" when it has a zone. */
    if (text.len < 19 || text.ptr[4] != '-' || text.ptr[10] != ' ' || text.ptr[text.len - 1] == 'C')
        return 0;
    memcpy(buf, text.ptr, 19);
    buf[10] = 'T';
    memcpy(buf + 19, ".000Z", 5); /* NOLINT(bugprone-not-null-terminated-result): length returned */
    if (text.len > 20 && text.ptr[19] == '.')
        for (size_t i = 20; i < 23 && i < text.len && text.ptr[i] >= '0'; i++)
            buf[i] = text.ptr[i];
    return 24;
}

static void put_time(struct jw *w, struct str text)
{
    char buf[TIME_TEXT_BYTES + 1];
    size_t len = time_text(buf + 1, text);

    if (len > 0) {
        buf[0] = '"';
        buf[len + 1] = '"';
        jw_raw(w, (struct str){buf, len + 2});
    } else if (str_ends(text, STR("infinity"))) {
        jw_null(w);
    } else {
        jw_str(w, text);
    }
}

static void put_date(struct jw *w, struct str text)
{
    if (str_ends(text, STR("infinity")))
        jw_null(w);
    else
        jw_str(w, text);
}

/* NaN and Infinity do not exist in JSON: null. */
static void rows_json_put_number(struct jw *w, struct str text)
{
    char last = text.len > 0 ? text.ptr[text.len - 1] : 'N';

    if (last >= '0' && last <= '9')
        jw_raw(w, text);
    else
        jw_null(w);
}

static void put_bool(struct jw *w, struct str text)
{
    jw_bool(w, text.len > 0 && text.ptr[0] == 't');
}

static void put_array(struct jw *w, struct str text, void (*put)(struct jw *w, struct str text))
{
    struct array_item item;

    /* An array with several dimensions or explicit bounds is written as a string: we store no such
     * arrays, but the JSON must never be malformed. */
    if (text.len < 2 || text.ptr[0] != '{' || text.ptr[1] == '{') {
        jw_str(w, text);
        return;
    }
    jw_arr(w);
    while (array_next(&text, &item)) {
        if (item.null)
            jw_null(w);
        else
            put(w, array_unescape(w->out->arena, &item));
    }
    jw_arr_end(w);
}

/* Length of the quoted string at the beginning of `text`, with its quotes. memchr() is fast here:
 * most of a large document is in few strings. */
static size_t quoted_len(const char *text, size_t len)
{
    size_t at = 1;

    for (;;) {
        const char *quote = at < len ? memchr(text + at, '"', len - at) : NULL;
        size_t slashes = 0;

        if (quote == NULL)
            return len;
        at = (size_t)(quote - text) + 1;
        while (slashes + 2 < at && text[at - 2 - slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return at;
    }
}

/* Copies JSON without the white space that PostgreSQL prints between tokens. */
static void put_json(struct jw *w, struct str text)
{
    /* Write in place: a copy of JSON of megabytes would stay in the arena. */
    jw_raw(w, STR(""));
    if (!strbuf_reserve(w->out, text.len))
        return;
    char *compact = w->out->ptr + w->out->len;
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
            continue;
        size_t run = c == '"' ? quoted_len(text.ptr + i, text.len - i) : 1;
        memcpy(compact + len, text.ptr + i, run);
        len += run;
        i += run - 1;
    }
    w->out->len += len;
}

static void rows_json_put_value(struct jw *w, Oid type, struct str text)
{
    switch (type) {
    case OID_INT8:
    case OID_INT4:
    case OID_INT2:
    case OID_OID:
        jw_raw(w, text);
        return;
    case OID_JSON:
    case OID_JSONB:
        put_json(w, text);
        return;
    case OID_BOOL:
        put_bool(w, text);
        return;
    case OID_FLOAT4:
    case OID_FLOAT8:
    case OID_NUMERIC:
        rows_json_put_number(w, text);
        return;
    case OID_TIMESTAMPTZ:
    case OID_TIMESTAMP:
        put_time(w, text);
        return;
    case OID_DATE:
        put_date(w, text);
        return;
    case OID_INT8S:
    case OID_INT4S:
    case OID_INT2S:
    case OID_FLOAT4S:
    case OID_FLOAT8S:
    case OID_NUMERICS:
        put_array(w, text, rows_json_put_number);
        return;
    case OID_BOOLS:
        put_array(w, text, put_bool);
        return;
    case OID_TEXTS:
    case OID_VARCHARS:
    case OID_UUIDS:
        put_array(w, text, jw_str);
        return;
    default:
        jw_str(w, text);
        return;
    }
}

void rows_json_value(struct jw *w, const struct rows *rows, size_t row, size_t column)
{
    struct str text = rows_str(rows, row, column);

    if (text.ptr)
        rows_json_put_value(w, PQftype(rows->result, (int)column), text);
    else
        jw_null(w);
}

void rows_json_members(struct jw *w, const struct rows *rows, size_t row)
{
    for (size_t i = 0; i < rows->columns; i++) {
        const char *name = PQfname(rows->result, (int)i);
        if (name[0] == '_')
            continue;
        jw_key(w, str_from(name));
        rows_json_value(w, rows, row, i);
    }
}

void rows_json_array(struct task *task, struct jw *w, const struct rows *rows, size_t count)
{
    jw_arr(w);
    for (size_t i = 0; i < count; i++) {
        jw_obj(w);
        rows_json_members(w, rows, i);
        jw_obj_end(w);
        task_pause_if_due(task);
    }
    jw_arr_end(w);
}
