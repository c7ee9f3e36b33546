/* Writes the chunks of an import. */
#include "records/transfer/import_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "json/jr.h"
#include "loop/task.h"
#include "records/records.h"
#include "records/rules/error.h"
#include "records/write/bulk.h"
#include "records/write/size.h"
#include "records/write/write.h"

/* Rows that one transaction writes. */
struct chunk {
    struct import_writer *writer;
    size_t from, to;             /* range of writer->entries */
    struct import_report report; /* of the import, including these rows */
};

/* --- report --- */

static void report_refuse(struct import_report *report,
                          struct arena *arena,
                          int64_t row,
                          enum problem code,
                          struct str detail)
{
    report->failed++;
    if (report->error_count == IMPORT_ERRORS_MAX)
        return;
    report->errors[report->error_count++] =
        (struct import_error){.row = row, .code = code, .detail = arena_dup(arena, detail)};
}

static void entry_refuse(struct import_writer *writer,
                         struct import_report *report,
                         const struct import_entry *entry)
{
    report_refuse(report, writer->arena, entry->row, entry->code, entry->detail);
}

/* --- by id --- */

struct row_by_id {
    int64_t id; /* 0 = the row creates a record */
    json_t *record;
    size_t entry_index;
};

static int order_rows_by_id(const void *left, const void *right)
{
    const struct row_by_id *a = left;
    const struct row_by_id *b = right;

    if (a->id != b->id)
        return (a->id > b->id) - (a->id < b->id);
    return (a->entry_index > b->entry_index) - (a->entry_index < b->entry_index);
}

static int read_row_id(struct records_ctx *ctx, const json_t *record, int64_t *ret_id)
{
    const json_t *id = json_object_get(record, "id");

    *ret_id = json_is_integer(id) ? json_integer_value(id) : 0;
    if (id == NULL || json_is_null(id) || *ret_id > 0)
        return 0;
    return records_fail_field(
        ctx, PROBLEM_VALIDATION_FAILED, STR("id"), PROBLEM_TYPE_MISMATCH, "expected an id");
}

/* co: Creates or changes one record, as the routes for one record do. */
AWAITS static int
write_by_id(struct records_ctx *ctx, const struct entity *entity, const struct row_by_id *row)
{
    json_t *body = jr_attach(ctx->task->arena, json_copy(row->record));
    struct strbuf out;
    int64_t version;
    int64_t id;

    strbuf_init(&out,
                ctx->task->arena,
                2 * (size_t)size_json_limit(directory_record_bytes(ctx->directory)));
    (void)json_object_del(body, "id");
    if (row->id != 0)
        return records_update(ctx, entity, row->id, body, 0, &out, &version);
    return records_create(ctx, entity, body, &out, &id, &version);
}

/* Copies the texts of the failure out of an arena that is freed next. */
static void copy_error(struct records_ctx *ctx, struct arena *arena)
{
    struct records_error *error = &ctx->error;

    error->detail = arena_dup(arena, error->detail);
    for (size_t i = 0; i < error->fields.count && i < ARRAY_LEN(error->fields.items); i++) {
        struct schema_error *item = &error->fields.items[i];
        item->field = arena_dup(arena, item->field);
        item->message = arena_dup(arena, item->message);
    }
}

/* co: Writes one row in an arena of its own: the record may be larger than its row in the file. */
AWAITS static int write_by_id_isolated(struct records_ctx *ctx,
                                       const struct entity *entity,
                                       const struct row_by_id *row)
{
    struct arena *outer = ctx->task->arena;
    struct arena *arena = arena_new(0);

    ctx->task->arena = arena;
    int rc = write_by_id(ctx, entity, row);
    ctx->task->arena = outer;
    if (rc != 0)
        copy_error(ctx, outer);
    arena_free(arena);
    return rc;
}

/* co: Writes all rows or none, in the order of their ids. */
AWAITS static int
chunk_by_id(struct records_ctx *ctx, const struct entity *entity, struct chunk *chunk)
{
    struct row_by_id *rows = ARENA_ARRAY(ctx->task->arena, rows, chunk->to - chunk->from);
    size_t count = 0;

    for (size_t i = chunk->from; i < chunk->to; i++) {
        json_t *record = chunk->writer->entries[i].record;
        if (record == NULL)
            continue;
        rows[count] = (struct row_by_id){.record = record, .entry_index = i};
        TRY(read_row_id(ctx, record, &rows[count++].id));
    }
    qsort(rows, count, sizeof(*rows), order_rows_by_id);
    for (size_t i = 0; i < count; i++)
        TRY(write_by_id_isolated(ctx, entity, &rows[i]));
    chunk->report.done += (int64_t)count;
    return 0;
}

/* --- by bulk writes --- */

/* co: Writes the rows as new records, or as upserts by a unique field. */
AWAITS static int
chunk_bulk(struct records_ctx *ctx, const struct entity *entity, struct chunk *chunk)
{
    struct import_writer *writer = chunk->writer;
    const struct model_field *key = writer->config->key;
    const struct records_bulk bulk = {
        .items = jr_attach(ctx->task->arena, json_array()),
        .upsert = key != NULL,
        .on_conflict = &key,
        .on_conflict_count = key != NULL,
    };
    struct records_bulk_outcome outcome = {0};
    size_t at = 0;

    for (size_t i = chunk->from; i < chunk->to; i++)
        if (writer->entries[i].record != NULL)
            (void)json_array_append((json_t *)bulk.items, writer->entries[i].record);
    if (json_array_size(bulk.items) > 0)
        TRY(records_bulk_write(ctx, entity, &bulk, &outcome));
    for (size_t i = chunk->from; i < chunk->to; i++) {
        struct import_entry entry = writer->entries[i];
        const struct records_bulk_result *result = NULL;
        if (entry.record != NULL)
            result = &outcome.results[at++];
        if (result != NULL && result->id != 0) {
            chunk->report.done++;
            continue;
        }
        if (result != NULL) {
            entry.code = result->error.code;
            entry.detail = result->error.detail;
        }
        entry_refuse(writer, &chunk->report, &entry);
    }
    return 0;
}

/* --- transactions --- */

bool import_writer_is_by_id(const struct import_writer *writer)
{
    return writer->config->key != NULL && writer->config->key->system;
}

AWAITS static int
chunk_write(struct records_ctx *ctx, const struct entity *entity, struct chunk *chunk)
{
    struct import_writer *writer = chunk->writer;

    if (!import_writer_is_by_id(writer))
        return chunk_bulk(ctx, entity, chunk);
    TRY(chunk_by_id(ctx, entity, chunk));
    for (size_t i = chunk->from; i < chunk->to; i++)
        if (writer->entries[i].record == NULL)
            entry_refuse(writer, &chunk->report, &writer->entries[i]);
    return 0;
}

static struct str digest_hex(struct arena *arena, const uint8_t digest[DIGEST_SHA256_BYTES])
{
    return codec_hex(arena, (struct str){(const char *)digest, DIGEST_SHA256_BYTES});
}

/* co: Stores the progress, in the transaction that writes the rows. */
AWAITS static int
chunk_progress(struct records_ctx *ctx, const struct entity *entity, struct chunk *chunk)
{
    struct import_writer *writer = chunk->writer;
    const struct import_config *config = writer->config;
    const struct import_entry *last = &writer->entries[chunk->to - 1];
    const struct import_progress progress = {
        .rows = last->row,
        .digest = digest_hex(ctx->task->arena, last->digest),
        .report = &chunk->report,
    };
    bool is_held = true;

    if (config->progress == NULL)
        return 0;
    int rc = config->progress(config->progress_arg, ctx->db, &progress, &is_held);
    TRY(write_tx_db(ctx, entity, rc));
    writer->is_lost = !is_held;
    if (is_held)
        return 0;
    return records_fail(ctx, PROBLEM_CONFLICT, "Another request has taken over this import.");
}

/* co: Writes a chunk (a write_fn). In a dry run IMPORT_DRY_RUN_DONE rolls the transaction back. */
AWAITS static int
chunk_in_transaction(struct records_ctx *ctx, const struct entity *entity, struct db *tx, void *arg)
{
    struct chunk *chunk = arg;
    struct db *db = ctx->db;

    chunk->report = chunk->writer->report;
    ctx->error = (struct records_error){0};
    ctx->db = tx;
    ctx->can_repeat = true;
    int rc = chunk_write(ctx, entity, chunk);
    if (rc == 0)
        rc = chunk_progress(ctx, entity, chunk);
    ctx->can_repeat = false;
    ctx->db = db;
    return rc == 0 && chunk->writer->config->dry_run ? IMPORT_DRY_RUN_DONE : rc;
}

/* co: Writes entries in a transaction. The report includes the entries only after success. */
AWAITS static int chunk_transact(struct import_writer *writer, size_t from, size_t to)
{
    struct records_ctx *ctx = writer->ctx;
    struct chunk *chunk = ARENA_NEW(ctx->task->arena, chunk);
    int rc;

    *chunk = (struct chunk){.writer = writer, .from = from, .to = to};
    ctx->is_reloaded = false;
    do {
        const struct entity *entity = writer->entity;
        bool notify = entity_has_consumer(entity, EVENT_CREATED) ||
                      entity_has_consumer(entity, EVENT_UPDATED) || ctx->model->live;
        rc = write_transaction(ctx, entity, chunk_in_transaction, chunk, notify);
    } while (records_should_repeat(ctx, &writer->entity, &rc));
    if (rc != 0 && rc != IMPORT_DRY_RUN_DONE)
        return rc;
    writer->report = chunk->report;
    return 0;
}

/* Returns true when the failure is about a row, not about the import. */
static bool is_row_refused(const struct import_writer *writer, int rc)
{
    const struct records_ctx *ctx = writer->ctx;

    return rc == RECORDS_FAILED && !writer->is_lost && !bulk_is_general(ctx->error.code) &&
           model_entity_by_id(ctx->model, writer->entity->id) != NULL;
}

/* co: Writes each row in a transaction of its own. */
AWAITS static int chunk_write_rows(struct import_writer *writer)
{
    struct records_ctx *ctx = writer->ctx;

    for (size_t i = 0; i < writer->count; i++) {
        struct import_entry entry = writer->entries[i];
        int rc = entry.record != NULL ? chunk_transact(writer, i, i + 1) : 0;
        if (is_row_refused(writer, rc)) {
            entry.code = ctx->error.code;
            entry.detail = ctx->error.detail;
        } else if (rc != 0) {
            return rc;
        }
        if (rc != 0 || entry.record == NULL)
            entry_refuse(writer, &writer->report, &entry);
    }
    ctx->error = (struct records_error){0};
    return 0;
}

/* A model that was reloaded while the chunk was written is referenced by the chunk's arena. Takes
 * another reference, for the arena of the import. */
static void hold_model(const struct import_writer *writer, const struct model *before)
{
    const struct model *model = writer->ctx->model;

    if (model != before)
        model_attach(writer->arena, model_ref((struct model *)model));
}

static void free_entries(struct import_writer *writer)
{
    for (size_t i = 0; i < writer->count; i++)
        json_decref(writer->entries[i].record);
    writer->count = 0;
    writer->bytes = 0;
}

int import_writer_flush(struct import_writer *writer)
{
    struct records_ctx *ctx = writer->ctx;
    const struct model *model = ctx->model;

    if (writer->count == 0)
        return 0;
    struct arena *arena = arena_new(0);
    ctx->task->arena = arena;
    int rc = chunk_transact(writer, 0, writer->count);
    if (is_row_refused(writer, rc))
        rc = chunk_write_rows(writer);
    ctx->task->arena = writer->arena;
    hold_model(writer, model);
    if (rc != 0)
        copy_error(ctx, writer->arena);
    arena_free(arena);
    free_entries(writer);
    return rc;
}

/* --- rows --- */

void import_writer_digest_row(struct import_writer *writer, struct str bytes)
{
    struct digest digest;

    digest_init(&digest);
    digest_update(&digest, (struct str){(const char *)writer->digest, sizeof(writer->digest)});
    digest_update(&digest, bytes);
    digest_final(&digest, writer->digest);
}

struct str import_writer_digest(const struct import_writer *writer)
{
    return digest_hex(writer->arena, writer->digest);
}

static void writer_add_entry(struct import_writer *writer, struct import_entry entry)
{
    memcpy(entry.digest, writer->digest, sizeof(entry.digest));
    writer->entries[writer->count++] = entry;
}

AWAITS static int flush_if_full(struct import_writer *writer)
{
    if (writer->count < IMPORT_CHUNK_ROWS && writer->bytes < IMPORT_CHUNK_BYTES)
        return 0;
    return import_writer_flush(writer);
}

int import_writer_add(struct import_writer *writer, int64_t row, json_t *record, size_t bytes)
{
    writer_add_entry(writer, (struct import_entry){.row = row, .record = record});
    writer->bytes += bytes;
    return flush_if_full(writer);
}

int import_writer_refuse(struct import_writer *writer,
                         int64_t row,
                         enum problem code,
                         struct str detail)
{
    bool has_room = writer->report.error_count < IMPORT_ERRORS_MAX;

    writer_add_entry(writer,
                     (struct import_entry){
                         .row = row,
                         .code = code,
                         .detail = has_room ? arena_dup(writer->arena, detail) : STR_NONE,
                     });
    return flush_if_full(writer);
}

static void writer_free(void *arg)
{
    free_entries(arg);
}

void import_writer_init(struct import_writer *writer,
                        struct records_ctx *ctx,
                        const struct entity *entity,
                        const struct import_config *config)
{
    writer->ctx = ctx;
    writer->entity = entity;
    writer->config = config;
    writer->arena = ctx->task->arena;
    if (config->resume_from.report != NULL)
        writer->report = *config->resume_from.report;
    arena_defer(writer->arena, writer_free, writer);
}
