/* Resumable uploads. */
#include "files/resume.h"

#include "base/panic.h"
#include "resume_sql.h"

struct resume_writer {
    struct upload_config config;
    struct resumable_upload *resume;
    struct upload *part; /* the current part; NULL = none */
    int64_t written;     /* bytes of the current part */
};

/* co: Checks the quota and the limits of unfinished uploads, in the transaction that adds one. */
AWAITS static int
resume_check_limits(const struct upload_config *config, struct db *tx, int64_t length)
{
    struct rows rows;

    TRY(db_query(config->task, tx, SQL_RESUME_LOCK(), NULL));
    TRY(db_query(config->task, tx, SQL_RESUME_UNDER_WAY(.created_by = config->created_by), &rows));
    const struct sql_resume_under_way_row under_way = sql_resume_under_way_row(&rows, 0);
    if (under_way.of_user >= RESUMES_OF_USER_MAX)
        return FILES_UPLOADS_OF_USER;
    if (under_way.of_project >= RESUMES_OF_PROJECT_MAX)
        return FILES_UPLOADS_OF_PROJECT;
    bool fits = config->quota == 0 ||
                (under_way.bytes <= config->quota && length <= config->quota - under_way.bytes);
    return fits ? 0 : FILES_OVER_QUOTA;
}

struct resume_insert_job {
    const struct upload_config *config;
    struct resumable_upload *resume;
};

AWAITS static int resume_insert(struct task *task, struct db *tx, void *arg)
{
    const struct resume_insert_job *new = arg;
    const struct upload_config *config = new->config;
    struct resumable_upload *resume = new->resume;
    struct rows rows;

    TRY(resume_check_limits(config, tx, resume->length));
    TRY(db_query(task,
                 tx,
                 SQL_RESUME_ADD(.id = resume->id,
                                .length = resume->length,
                                .filename = resume->filename,
                                .metadata = resume->metadata,
                                .folder_id = resume->folder_id,
                                .is_public = resume->is_public,
                                .created_by = config->created_by,
                                .seconds = RESUME_SECONDS),
                 &rows));
    resume->expires_ms = sql_resume_add_row(&rows, 0).expires_at;
    return 0;
}

int resume_create(const struct upload_config *config, struct resumable_upload *resume)
{
    struct resume_insert_job new = {config, resume};
    struct file_key id;

    TRY(files_register_project(
        config)); /* so that the collector removes the upload if it expires */
    file_key_new(config->project->number, &id);
    resume->id = arena_dup(config->task->arena, str_from(id.name));
    return db_transact(config->task, &config->project->db, resume_insert, &new);
}

int resume_find(const struct upload_config *config, struct str id, struct resumable_upload *ret)
{
    struct rows rows;

    if (id.len != RESUME_ID_BYTES)
        return FILES_MISSING;
    TRY(db_query(config->task,
                 &config->project->db,
                 SQL_RESUME_GET(.id = id, .created_by = config->created_by),
                 &rows));
    if (rows.count == 0)
        return FILES_MISSING;
    const struct sql_resume_get_row row = sql_resume_get_row(&rows, 0);
    *ret = (struct resumable_upload){
        .id = id,
        .length = row.length,
        .received = row.received,
        .filename = row.filename,
        .metadata = row.metadata,
        .folder_id = row.folder_id,
        .is_public = row.is_public,
        .file_id = row.file_id,
        .expires_ms = row.expires_at,
    };
    return 0;
}

int resume_remove(const struct upload_config *config, struct db *db, struct str id)
{
    struct rows rows;

    TRY(db_query(
        config->task, db, SQL_RESUME_REMOVE(.id = id, .created_by = config->created_by), &rows));
    return rows.count > 0 ? 0 : FILES_MISSING;
}

/* --- bytes --- */

struct resume_writer *resume_writer_new(const struct upload_config *config,
                                        struct resumable_upload *resume)
{
    struct resume_writer *writer = ARENA_NEW(config->task->arena, writer);

    writer->config = *config;
    writer->config.folder_id = resume->folder_id;
    writer->config.is_public = resume->is_public;
    writer->resume = resume;
    return writer;
}

AWAITS static int part_begin(struct resume_writer *writer)
{
    writer->config.resume_id = writer->resume->id;
    writer->config.resume_offset = writer->resume->received;
    writer->part = upload_new(&writer->config);
    writer->written = 0;
    return upload_begin(writer->part, writer->resume->filename);
}

AWAITS static int
part_copy(struct upload *whole, struct task *task, const struct file_key *key, int64_t size)
{
    struct store_reader *reader;
    struct str chunk;

    TRY(store_open(task, key, 0, size, &reader));
    for (int64_t done = 0; done < size; done += (int64_t)chunk.len) {
        TRY(store_read(reader, done, size - done, &chunk));
        TRY(upload_write(whole, chunk));
    }
    store_close(reader);
    return 0;
}

/* Copies the stored parts and the current one into one file. */
AWAITS static int resume_join(struct resume_writer *writer, struct upload **ret_whole)
{
    struct task *task = writer->config.task;
    struct upload *whole = upload_new(&writer->config);
    struct file_key key;
    struct rows parts;

    TRY(db_query(
        task, &writer->config.project->db, SQL_RESUME_PARTS(.id = writer->resume->id), &parts));
    TRY(upload_begin(whole, writer->resume->filename));
    for (size_t i = 0; i < parts.count; i++) {
        const struct sql_resume_parts_row part = sql_resume_parts_row(&parts, i);
        file_key_set(writer->config.project->number, part.key, &key);
        TRY(part_copy(whole, task, &key, part.size));
    }
    key = upload_key(writer->part);
    TRY(part_copy(whole, task, &key, writer->written));
    TRY(upload_end(whole));
    *ret_whole = whole;
    return 0;
}

/* Joins all parts to one file. One transaction adds the file's row and ends the resumable upload.
 * If the process dies before that, the client must send the last part again. */
AWAITS static int resume_complete(struct resume_writer *writer)
{
    struct resumable_upload *resume = writer->resume;
    struct upload *whole = writer->part;
    const int64_t *ids = NULL;

    if (resume->received > 0)
        TRY(resume_join(writer, &whole));
    TRY(upload_commit(whole, &ids));
    resume->received = resume->length;
    resume->file_id = (struct opt_i64){ids[0], true};
    return 0;
}

AWAITS static int part_end(struct resume_writer *writer)
{
    struct resumable_upload *resume = writer->resume;

    TRY(upload_end(writer->part));
    if (resume->received + writer->written == resume->length) {
        TRY(resume_complete(writer));
    } else {
        TRY(upload_store_part(writer->part));
        resume->received += writer->written;
    }
    writer->part = NULL;
    return 0;
}

int resume_write(struct resume_writer *writer, struct str chunk)
{
    const struct resumable_upload *resume = writer->resume;

    if (!writer->part)
        TRY(part_begin(writer));
    MUST((int64_t)chunk.len <= resume->length - resume->received - writer->written);
    TRY(upload_write(writer->part, chunk));
    writer->written += (int64_t)chunk.len;
    bool whole = resume->received + writer->written == resume->length;
    return whole || writer->written >= RESUME_PART_BYTES ? part_end(writer) : 0;
}

int resume_end(struct resume_writer *writer)
{
    const struct resumable_upload *resume = writer->resume;

    if (!writer->part && resume->length == 0 && !resume->file_id.set)
        TRY(part_begin(writer));
    return writer->part ? part_end(writer) : 0;
}
