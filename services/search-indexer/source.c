/* Reads records in chunks of CHUNK_BYTES and cuts each chunk into terms on a thread. The records'
 * grants are read last and added as terms of principals. */
#include "source.h"

#include <string.h>

#include "base/panic.h"
#include "db/db.h"
#include "loop/work.h"
#include "search/principal.h"
#include "search/tokens.h"
#include "source_sql.h"

#define SQL_BYTES    ((size_t)1024 * 1024)
#define CHUNK_BYTES  ((size_t)4 * 1024 * 1024)
#define TEXT_LETTERS 262144 /* of one field; the text after them is not indexed */
#define READ_MS      30000
#define RECORD_PAIRS ((size_t)50000) /* then a record's text is cut (can_add_pairs()) */

enum { COLUMN_ID, COLUMN_OWNER, COLUMN_FIELDS };

/* --- statements --- */

/* Letters are only counted in a text that has more than TEXT_LETTERS bytes. */
static void text_sql(struct strbuf *sql, const char *of, struct str column)
{
    strbuf_printf(sql,
                  "case when octet_length(%s.%.*s) > %d then left(%s.%.*s, %d) else %s.%.*s end",
                  of,
                  STR_ARG(column),
                  TEXT_LETTERS,
                  of,
                  STR_ARG(column),
                  TEXT_LETTERS,
                  of,
                  STR_ARG(column));
}

static void field_sql(const struct shape_field *at, struct strbuf *sql)
{
    if (at->field == NULL) {
        strbuf_str(sql, STR(", null::text"));
        return;
    }
    struct str column = at->field->column;
    switch (at->field->type) {
    case TYPE_RELATION:
        strbuf_str(sql, STR(", (select "));
        text_sql(sql, "d", at->display->column);
        strbuf_printf(sql,
                      " from {p}.%.*s d where d.id = t.%.*s)",
                      STR_ARG(at->display->entity->table),
                      STR_ARG(column));
        break;
    case TYPE_VARCHAR:
    case TYPE_TEXT:
        strbuf_str(sql, STR(", "));
        text_sql(sql, "t", column);
        break;
    default:
        strbuf_printf(sql, ", t.%.*s::text", STR_ARG(column));
    }
}

uint64_t source_hash(struct str text)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (uint8_t)text.ptr[i]) * UINT64_C(1099511628211);
    return hash;
}

/* $1 is the value that `where` needs, $2 how many records to read. */
static struct sql *
source_sql(struct arena *arena, const struct index_shape *fields, const char *where)
{
    struct sql *sql = ARENA_NEW(arena, sql);
    struct strbuf text;

    strbuf_init(&text, arena, SQL_BYTES);
    strbuf_str(&text, STR("select t.id, t.created_by"));
    for (size_t i = 0; i < fields->count; i++)
        field_sql(&fields->fields[i], &text);
    strbuf_printf(&text,
                  " from {p}.%.*s t where %s order by t.id limit $2::bigint",
                  STR_ARG(fields->entity->table),
                  where);
    MUST(!text.overflow);
    *sql = (struct sql){
        .name = "search.source",
        .hash = source_hash(strbuf_view(&text)),
        .text = strbuf_cstring(&text),
        .arity = 2,
        .kind = SQL_MANY,
        .heavy = true,
    };
    return sql;
}

/* --- terms --- */

struct record_reader {
    struct task *task;
    const struct index_shape *shape;
    struct index_terms *terms;
    struct docs *docs;
    struct arena *arena; /* memory of the docs */
    const struct rows *rows;
    struct forward_pair *pairs; /* of the current record */
    size_t count, cap;
    bool full;          /* the record has RECORD_PAIRS pairs: its further text is not indexed */
    size_t total_pairs; /* pairs of all records */
    bool truncated;
};

static void reader_add_pair(struct record_reader *reading, struct str term, size_t field)
{
    const struct forward_pair pair = {
        .term = (int32_t)terms_put(reading->terms, term) + 1,
        .field = (int16_t)field,
    };

    ARENA_PUSH(reading->arena, reading->pairs, reading->count, reading->cap, pair);
}

/* Each time that there are 2 * RECORD_PAIRS pairs, removes duplicates and checks whether
 * RECORD_PAIRS pairs are left. The place where a text is cut thus depends on the record alone. */
static bool can_add_pairs(struct record_reader *reading)
{
    if (reading->count < 2 * RECORD_PAIRS)
        return true;
    reading->count = forward_sort(reading->pairs, reading->count);
    reading->full = reading->count >= RECORD_PAIRS;
    return !reading->full;
}

static void reader_add_text(struct record_reader *reading, struct str text, size_t field)
{
    struct tokens tokens;
    struct search_token token;

    tokens_init(&tokens, text);
    while (!reading->full && can_add_pairs(reading) && tokens_next(&tokens, &token))
        reader_add_pair(reading, token.text, field);
}

static void add_principal(struct record_reader *reading, char kind, int64_t id)
{
    char buffer[PRINCIPAL_BYTES];

    reader_add_pair(reading, principal_print(buffer, kind, id), PRINCIPAL_FIELD);
}

static void doc_store_pairs(struct record_reader *reading, struct forward_list *list)
{
    list->count = reading->count > 0 ? forward_sort(reading->pairs, reading->count) : 0;
    list->items = ARENA_ARRAY(reading->arena, list->items, list->count);
    if (list->count > 0)
        memcpy(list->items, reading->pairs, list->count * sizeof(*list->items));
}

/* On a thread: cuts the rows of a chunk into terms. */
static void rows_tokenize(void *arg)
{
    struct record_reader *reading = arg;
    const struct rows *rows = reading->rows;

    for (size_t row = 0; row < rows->count; row++) {
        struct doc doc = {.id = rows_i64(rows, row, COLUMN_ID), .exists = true};
        reading->count = 0;
        reading->full = false;
        if (!rows_null(rows, row, COLUMN_OWNER))
            add_principal(reading, 'o', rows_i64(rows, row, COLUMN_OWNER));
        for (size_t i = 0; i < reading->shape->count; i++)
            if (!rows_null(rows, row, COLUMN_FIELDS + i))
                reader_add_text(reading, rows_str(rows, row, COLUMN_FIELDS + i), i + 1);
        doc_store_pairs(reading, &doc.list);
        reading->total_pairs += doc.list.count;
        ARENA_PUSH(
            reading->arena, reading->docs->items, reading->docs->count, reading->docs->cap, doc);
    }
}

AWAITS static int source_on_rows(const struct rows *rows, void *arg)
{
    struct record_reader *reading = arg;

    reading->rows = rows;
    reading->truncated = rows->is_truncated;
    work_off_thread(reading->task, rows_tokenize, reading);
    return 0;
}

/* --- grants --- */

static struct doc *source_find(const struct docs *docs, int64_t id)
{
    size_t low = 0;
    size_t high = docs->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (docs->items[middle].id == id)
            return &docs->items[middle];
        if (docs->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void add_grants(struct record_reader *reading, const struct rows *rows)
{
    static const char kinds[] = {'?', 'u', 'g', 'r'};

    for (size_t i = 0; i < rows->count;) {
        struct sql_source_grants_row row = sql_source_grants_row(rows, i);
        int64_t id = row.record_id;
        struct doc *doc = source_find(reading->docs, id);
        reading->count = 0;
        for (size_t k = 0; doc != NULL && k < doc->list.count; k++)
            ARENA_PUSH(
                reading->arena, reading->pairs, reading->count, reading->cap, doc->list.items[k]);
        for (; i < rows->count; i++) {
            row = sql_source_grants_row(rows, i);
            if (row.record_id != id)
                break;
            if (doc != NULL && row.kind >= 1 && row.kind <= 3)
                add_principal(reading, kinds[row.kind], row.grantee_id);
        }
        if (doc != NULL)
            doc_store_pairs(reading, &doc->list);
    }
}

AWAITS static int read_grants(struct task *task, struct db *db, struct record_reader *reading)
{
    int64_t *ids = ARENA_ARRAY(task->arena, ids, reading->docs->count);
    struct rows rows;

    for (size_t i = 0; i < reading->docs->count; i++)
        ids[i] = reading->docs->items[i].id;
    if (reading->docs->count == 0)
        return 0;
    TRY(db_query(task,
                 db,
                 SQL_SOURCE_GRANTS(.entity_id = reading->shape->entity->id,
                                   .ids = sql_i64s(ids, reading->docs->count)),
                 &rows));
    add_grants(reading, &rows);
    return 0;
}

/* --- reads --- */

AWAITS static int source_read_chunk(struct db *db,
                                    struct record_reader *reading,
                                    const char *where,
                                    struct db_param what,
                                    int64_t most)
{
    const struct sql *sql = source_sql(reading->task->arena, reading->shape, where);
    const struct db_chunk chunk = {
        .bytes = CHUNK_BYTES, .timeout_ms = READ_MS, .fn = source_on_rows, .arg = reading};

    return db_chunk(reading->task, db, sql, PARAMS(what, P_I64(most)), &chunk);
}

static struct record_reader record_reader_new(struct task *task,
                                              const struct index_shape *fields,
                                              struct index_terms *terms,
                                              struct docs *docs)
{
    *docs = (struct docs){0};
    return (struct record_reader){
        .task = task, .shape = fields, .terms = terms, .docs = docs, .arena = task->arena};
}

/* Adds ids without a record as docs whose `exists` is false. */
static void docs_add_missing(struct arena *arena, struct sql_i64s ids, struct docs *docs)
{
    struct docs all = {.items = ARENA_ARRAY(arena, all.items, ids.count), .count = ids.count};
    size_t at = 0;

    for (size_t i = 0; i < ids.count; i++) {
        if (at < docs->count && docs->items[at].id == ids.items[i])
            all.items[i] = docs->items[at++];
        else
            all.items[i].id = ids.items[i];
    }
    *docs = all;
}

int source_read(struct task *task,
                struct db *db,
                const struct index_shape *fields,
                struct sql_i64s ids,
                struct index_terms *terms,
                struct docs *ret_docs)
{
    struct record_reader reading = record_reader_new(task, fields, terms, ret_docs);
    struct sql_i64s left = ids;

    do {
        size_t had = ret_docs->count;
        reading.truncated = false;
        TRY(source_read_chunk(db,
                              &reading,
                              "t.id = any($1::bigint[])",
                              P_I64S(left.items, left.count),
                              (int64_t)left.count));
        if (reading.total_pairs > PAIRS_MAX && ids.count > 1)
            return DB_TOO_LARGE;
        if (!reading.truncated || ret_docs->count == had)
            break;
        int64_t last = ret_docs->items[ret_docs->count - 1].id;
        while (left.count > 0 && left.items[0] <= last)
            left = sql_i64s(left.items + 1, left.count - 1);
    } while (left.count > 0);
    TRY(read_grants(task, db, &reading));
    docs_add_missing(task->arena, ids, ret_docs);
    return 0;
}

int source_page(struct task *task,
                struct db *db,
                const struct index_shape *fields,
                int64_t after,
                int64_t most,
                struct index_terms *terms,
                struct docs *ret_docs)
{
    struct record_reader reading = record_reader_new(task, fields, terms, ret_docs);

    TRY(source_read_chunk(db, &reading, "t.id > $1::bigint", P_I64(after), most));
    ret_docs->more = reading.truncated || (int64_t)ret_docs->count == most;
    return read_grants(task, db, &reading);
}
