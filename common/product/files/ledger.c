/* Uploads and deletions. */
#include "files/ledger.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/panic.h"
#include "files/media.h"
#include "files/name.h"
#include "files/type.h"
#include "files_sql.h"
#include "log/log.h"
#include "loop/background.h"
#include "resume_sql.h"

#define REMOVE_LIMIT_MS 60000
#define MEDIA_PROBE_MS  2000 /* most time that an upload waits for sizes and durations */
#define REMOVALS_MAX    64   /* background removals at a time; the collector removes the rest */

static struct {
    int64_t upload_seconds, retry_seconds;
} times = {3600, 60};

void ledger_start(int64_t upload_seconds, int64_t again_seconds)
{
    times.upload_seconds = upload_seconds;
    times.retry_seconds = again_seconds;
}

int64_t upload_limit_ms(void)
{
    return times.upload_seconds * 1000;
}

int64_t ledger_retry_seconds(void)
{
    return times.retry_seconds;
}

int files_exist(struct task *task, struct directory *directory, bool *ret_is_stored)
{
    struct rows rows;

    TRY(db_query(task, directory_control(directory), SQL_FILE_PROJECTS_ANY(), &rows));
    *ret_is_stored = sql_file_projects_any_row(&rows, 0).used;
    return 0;
}

struct upload_file {
    struct file_key key;
    struct str name;
    struct file_facts facts;
    struct media_facts media;
    bool is_ended;
};

struct upload {
    struct upload_config config;
    struct upload_file files[UPLOAD_FILES_MAX];
    size_t count;
    struct store_writer *writer; /* of the last file */
    int64_t bytes;               /* of the files that ended */
    int64_t budget;              /* as of upload_budget() */
    bool is_settled;             /* committed, or the result of the commit is unknown */
};

/* --- removal in the background --- */

static unsigned removals; /* running now */

struct discard {
    struct db db;
    size_t count;
    struct str keys[];
};

AWAITS static void discard_keys(struct task *task, struct discard *discard)
{
    struct file_key key;

    for (size_t i = 0; i < discard->count; i++) {
        file_key_set(discard->db.schema, discard->keys[i], &key);
        int rc = store_remove(task, &key);
        if (rc == 0)
            rc = db_query(task,
                          &discard->db,
                          SQL_FILE_GARBAGE_DONE(.keys = sql_strs(&discard->keys[i], 1)),
                          NULL);
        if (rc != 0) { /* the collector removes the rest */
            log_debug("files.discard_failed", L_RESULT("rc", rc));
            return;
        }
    }
}

AWAITS static void discard_files(struct task *task, void *arg)
{
    discard_keys(task, arg);
    removals--;
}

/* Takes the keys in file_garbage first, so that only bytes that are certainly not files are
 * removed. */
AWAITS static void discard_claimed(struct task *task, struct discard *discard)
{
    size_t claimed = 0;

    for (size_t i = 0; i < discard->count; i++) {
        struct rows rows;
        int rc = db_query(
            task,
            &discard->db,
            SQL_FILE_GARBAGE_CLAIM(.key = discard->keys[i], .seconds = times.retry_seconds),
            &rows);
        if (rc != 0)
            return;
        if (rows.count > 0)
            discard->keys[claimed++] = discard->keys[i];
    }
    discard->count = claimed;
    discard_keys(task, discard);
}

AWAITS static void discard_uploads(struct task *task, void *arg)
{
    discard_claimed(task, arg);
    removals--;
}

static struct discard *discard_new(struct background *background, const struct db *db, size_t count)
{
    size_t bytes = sizeof(struct discard) + count * sizeof(struct str);
    struct discard *discard = arena_zalloc(background_arena(background), bytes);

    discard->db = (struct db){.server = db->server, .schema = db->schema};
    return discard;
}

static void upload_abandon(void *arg)
{
    struct upload *upload = arg;
    struct background *background;
    struct discard *discard;

    if (upload->is_settled || upload->count == 0 || removals == REMOVALS_MAX)
        return;
    removals++;
    background = background_new(REMOVE_LIMIT_MS);
    discard = discard_new(background, &upload->config.project->db, upload->count);
    for (size_t i = 0; i < upload->count; i++)
        discard->keys[discard->count++] =
            arena_dup(background_arena(background), str_from(upload->files[i].key.name));
    background_start(background, discard_uploads, discard);
}

/* --- uploads --- */

struct upload *upload_new(const struct upload_config *config)
{
    struct upload *upload = ARENA_NEW(config->task->arena, upload);

    upload->config = *config;
    upload->budget = INT64_MAX;
    project_hold(config->task->arena, config->project);
    arena_defer(config->task->arena, upload_abandon, upload);
    return upload;
}

int files_register_project(const struct upload_config *config)
{
    static struct map *entries;
    struct task *task = config->task;
    int64_t number = config->project->number;
    struct str key = arena_printf(task->arena, "%lld", (long long)number);

    if (!entries)
        entries = map_new();
    if (map_get(entries, key))
        return 0;
    TRY(db_query(
        task, directory_control(config->directory), SQL_FILE_PROJECT_ADD(.number = number), NULL));
    (void)map_put(entries, key, entries);
    return 0;
}

int upload_begin(struct upload *upload, struct str name)
{
    struct task *task = upload->config.task;
    struct upload_file *file = &upload->files[upload->count];

    MUST(upload->count < UPLOAD_FILES_MAX);
    TRY(files_register_project(&upload->config));
    file_key_new(upload->config.project->number, &file->key);
    file->name = file_name_clean(task->arena, name);
    struct db_call calls[] = {
        db_call(SQL_FILE_GARBAGE_ADD(.key = str_from(file->key.name),
                                     .seconds = 2 * times.upload_seconds)),
        db_call(SQL_FILE_TOTALS_GET()),
    };
    /* Before the query, so that upload_abandon() removes the key also if the answer is lost. */
    upload->count++;
    TRY(db_batch(task, &upload->config.project->db, calls, ARRAY_LEN(calls), NULL));
    if (upload->config.quota > 0) {
        const int64_t stored = sql_file_totals_get_row(&calls[1].rows, 0).bytes;
        upload->budget = upload->config.quota - stored - upload->bytes;
    }
    upload->writer = store_writer_new(task, &file->key);
    return 0;
}

int upload_write(struct upload *upload, struct str chunk)
{
    if ((int64_t)chunk.len > upload->budget - store_written(upload->writer))
        return FILES_OVER_QUOTA;
    return store_write(upload->writer, chunk);
}

int upload_end(struct upload *upload)
{
    struct upload_file *file = &upload->files[upload->count - 1];

    TRY(store_finish(upload->writer, &file->facts));
    file->is_ended = true;
    upload->bytes += file->facts.size;
    return 0;
}

size_t upload_count(const struct upload *upload)
{
    return upload->count;
}

int64_t upload_budget(const struct upload *upload)
{
    return upload->budget;
}

static struct db_call file_add_call(const struct upload *upload, const struct upload_file *file)
{
    const struct upload_config *config = &upload->config;
    struct str mime_type = type_refine(str_from(file->facts.mime_type), file->name);

    return db_call_new(config->task->arena,
                       SQL_FILE_ADD(.key = str_from(file->key.name),
                                    .filename = file->name,
                                    .mime_type = mime_type,
                                    .kind = str_from(type_kind(mime_type)),
                                    .size = file->facts.size,
                                    .sha256 = ((struct str){(const char *)file->facts.sha256,
                                                            sizeof(file->facts.sha256)}),
                                    .folder_id = config->folder_id,
                                    .is_public = config->is_public,
                                    .created_by = config->created_by,
                                    .width = some_id(file->media.width),
                                    .height = some_id(file->media.height),
                                    .duration = media_duration(&file->media)));
}

/* co: Writes all rows in one round trip, then checks each result to decide whether to commit. */
AWAITS static int upload_write_rows(struct upload *upload, struct db *tx, int64_t *ids)
{
    struct task *task = upload->config.task;
    const struct upload_config *config = &upload->config;
    size_t count = 2 * upload->count + 1;
    size_t all = config->resume_id.len > 0 ? count + 1 : count;
    struct db_call *calls = ARENA_ARRAY(task->arena, calls, all);

    for (size_t i = 0; i < upload->count; i++) {
        const struct upload_file *file = &upload->files[i];
        MUST(file->is_ended);
        calls[2 * i] =
            db_call_new(task->arena, SQL_FILE_GARBAGE_KEEP(.key = str_from(file->key.name)));
        calls[2 * i + 1] = file_add_call(upload, file);
    }
    calls[count - 1] = db_call_new(task->arena,
                                   SQL_FILE_TOTALS_ADD(.bytes = upload->bytes,
                                                       .files = (int64_t)upload->count,
                                                       .quota = config->quota));
    if (all > count)
        calls[count] = db_call_new(task->arena,
                                   SQL_RESUME_DONE(.key = str_from(upload->files[0].key.name),
                                                   .id = config->resume_id,
                                                   .position = config->resume_offset));
    TRY(db_batch(task, tx, calls, all, NULL));
    if (all > count && calls[count].rows.count == 0)
        return FILES_COLLECTED;
    for (size_t i = 0; i < upload->count; i++) {
        if (calls[2 * i].rows.count == 0)
            return FILES_COLLECTED;
        ids[i] = sql_file_add_row(&calls[2 * i + 1].rows, 0).id;
    }
    return calls[count - 1].rows.count > 0 ? 0 : FILES_OVER_QUOTA;
}

struct upload_rows {
    struct upload *upload;
    int64_t *ids;
};

AWAITS static int upload_work(struct task *task, struct db *tx, void *arg)
{
    const struct upload_rows *rows = arg;

    (void)task;
    rows->upload->is_settled = false;
    TRY(upload_write_rows(rows->upload, tx, rows->ids));
    rows->upload->is_settled = true;
    return 0;
}

/* After a positive result other than DB_UNKNOWN nothing was committed, and the bytes are removed.
 * After any other result they may be files: the collector decides. */
static int upload_settle(struct upload *upload, int rc)
{
    upload->is_settled = upload->is_settled && (rc <= 0 || rc == DB_UNKNOWN);
    return rc;
}

/* co: Reads sizes and durations for up to MEDIA_PROBE_MS; POST /files/{id}/probe can read others
 * later. */
AWAITS static int upload_probe(struct upload *upload)
{
    int64_t end_ms = clock_mono_ms() + MEDIA_PROBE_MS;

    for (size_t i = 0; i < upload->count; i++) {
        struct upload_file *file = &upload->files[i];
        const struct media_file media = {file->key, file->facts.size};
        if (media_may_have_facts(str_from(file->facts.mime_type)))
            TRY(media_facts_read_until(upload->config.task, &media, end_ms, &file->media));
    }
    return 0;
}

int upload_commit(struct upload *upload, const int64_t **ret_ids)
{
    struct task *task = upload->config.task;
    struct upload_rows rows = {
        .upload = upload,
        .ids = ARENA_ARRAY(task->arena, rows.ids, upload->count),
    };

    TRY(upload_probe(upload));
    TRY(upload_settle(upload, db_transact(task, &upload->config.project->db, upload_work, &rows)));
    *ret_ids = rows.ids;
    return 0;
}

struct file_key upload_key(const struct upload *upload)
{
    return upload->files[upload->count - 1].key;
}

const struct file_facts *upload_facts(const struct upload *upload)
{
    return &upload->files[upload->count - 1].facts;
}

struct upload_commit_job {
    struct upload *upload;
    struct db_call *calls;
    size_t count;
};

AWAITS static int upload_commit_work(struct task *task, struct db *tx, void *arg)
{
    const struct upload_commit_job *keeping = arg;

    keeping->upload->is_settled = false;
    TRY(db_batch(task, tx, keeping->calls, keeping->count, NULL));
    if (keeping->calls[0].rows.count == 0)
        return FILES_COLLECTED;
    keeping->upload->is_settled = true;
    return 0;
}

int upload_commit_by(struct upload *upload, struct db_call *calls, size_t count)
{
    const struct upload_config *config = &upload->config;
    struct upload_commit_job keeping = {upload, calls, count};

    MUST(upload->count == 1 && upload->files[0].is_ended);
    return upload_settle(
        upload, db_transact(config->task, &config->project->db, upload_commit_work, &keeping));
}

int upload_store_part(struct upload *upload)
{
    struct db_call call = db_call(SQL_RESUME_KEEP(.size = upload->files[0].facts.size,
                                                  .id = upload->config.resume_id,
                                                  .position = upload->config.resume_offset,
                                                  .key = str_from(upload->files[0].key.name)));

    return upload_commit_by(upload, &call, 1);
}

/* --- deletions --- */

int files_delete(
    struct task *task, struct db *tx, const int64_t *ids, size_t count, struct rows *ret_keys)
{
    int64_t bytes = 0;
    struct rows gone;
    struct str *keys;

    TRY(db_query(task, tx, SQL_FILES_REMOVE(.ids = sql_i64s(ids, count)), &gone));
    keys = ARENA_ARRAY(task->arena, keys, gone.count);
    for (size_t i = 0; i < gone.count; i++) {
        const struct sql_files_remove_row row = sql_files_remove_row(&gone, i);
        keys[i] = row.key;
        bytes += row.size;
    }
    struct db_call calls[] = {
        db_call(SQL_FILE_GARBAGE_TAKE(.keys = sql_strs(keys, gone.count),
                                      .seconds = times.retry_seconds)),
        db_call(SQL_FILE_TOTALS_ADD(.bytes = -bytes, .files = -(int64_t)gone.count, .quota = 0)),
    };
    TRY(db_batch(task, tx, calls, ARRAY_LEN(calls), NULL));
    *ret_keys = gone;
    return 0;
}

void files_bytes_remove(const struct db *db, const struct rows *keys)
{
    struct background *background;
    struct discard *discard;

    if (keys->count == 0 || removals == REMOVALS_MAX)
        return;
    removals++;
    background = background_new(REMOVE_LIMIT_MS);
    discard = discard_new(background, db, keys->count);
    for (size_t i = 0; i < keys->count; i++)
        discard->keys[discard->count++] =
            arena_dup(background_arena(background), rows_str(keys, i, 0));
    background_start(background, discard_files, discard);
}
