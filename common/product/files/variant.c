/* Pictures in other sizes: found in the cache, or made and stored there. */
#include "files/variant.h"

#include "base/panic.h"
#include "variant_sql.h"

/* Version of the way variants are made, a part of their specs. After a change, variants of an older
 * version are not found and are evicted over time. */
#define SPEC_VERSION 3
#define TRIES        3

static const struct {
    const char *type, *ending;
} formats[] = {
    [MEDIA_PNG] = {"image/png", "png"},
    [MEDIA_JPEG] = {"image/jpeg", "jpg"},
    [MEDIA_WEBP] = {"image/webp", "webp"},
    [MEDIA_AVIF] = {"image/avif", "avif"},
};

const char *variant_type(enum media_kind format)
{
    return format < ARRAY_LEN(formats) ? formats[format].type : NULL;
}

const char *variant_ending(enum media_kind format)
{
    return format < ARRAY_LEN(formats) ? formats[format].ending : NULL;
}

/* Returns the text by which a variant is found: the same for all requests for one picture. */
static struct str variant_spec(const struct variant_options *options)
{
    static const char *const fits[] = {
        [MEDIA_COVER] = "cover",
        [MEDIA_CONTAIN] = "contain",
        [MEDIA_INSIDE] = "inside",
        [MEDIA_FILL] = "fill",
    };
    const struct media_variant *wanted = &options->wanted;
    bool is_box = wanted->width > 0 && wanted->height > 0;
    bool is_still = wanted->is_still && wanted->format == MEDIA_WEBP; /* only WebP is animated */
    enum media_fit fit = is_box || wanted->fit == MEDIA_INSIDE ? wanted->fit : MEDIA_COVER;

    return arena_printf(options->task->arena,
                        "%ux%u-%s-%s%s-%d",
                        wanted->width,
                        wanted->height,
                        fits[fit],
                        variant_ending(wanted->format),
                        is_still ? "-first" : "",
                        SPEC_VERSION);
}

/* --- concurrent requests for one variant --- */

/* A variant that a task of this process is making. */
struct variant_flight {
    struct list link;
    int64_t project, file;
    struct str spec;
    struct list waiters;
};

struct flight_waiter {
    struct list link;
    struct await await;
};

static struct list flights = {&flights, &flights};

static struct variant_flight *flight_find(const struct variant_options *options, struct str spec)
{
    LIST_FOR (node, &flights) {
        struct variant_flight *flight = LIST_ITEM(node, struct variant_flight, link);
        if (flight->project == options->project->number && flight->file == options->file->id &&
            str_eq(flight->spec, spec))
            return flight;
    }
    return NULL;
}

/* Wakes the waiters. If the picture is at fault, all of them get that result; otherwise they look
 * the variant up again. */
static void flight_end(struct variant_flight *flight, int rc)
{
    struct list *node;

    list_remove(&flight->link);
    while ((node = list_shift(&flight->waiters)))
        await_done(&LIST_ITEM(node, struct flight_waiter, link)->await,
                   rc >= PICTURE_NONE && rc <= PICTURE_TOO_SLOW ? rc : 0);
}

static void variant_abandon(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct flight_waiter, await)->link);
}

AWAITS static int flight_wait(struct task *task, struct variant_flight *flight)
{
    struct flight_waiter *waiter = ARENA_NEW(task->arena, waiter);

    await_init(&waiter->await);
    waiter->await.abandon = variant_abandon;
    list_append(&flight->waiters, &waiter->link);
    return await_wait(task, &waiter->await, 0);
}

/* --- making --- */

AWAITS static int variant_chunk_write(void *arg, struct str chunk)
{
    return upload_write(arg, chunk);
}

AWAITS static int variant_store(const struct variant_options *options,
                                struct str spec,
                                struct upload *upload,
                                const struct media_facts *made)
{
    struct file_key key = upload_key(upload);
    const struct file_facts *facts = upload_facts(upload);
    struct db_call calls[] = {
        db_call(SQL_VARIANT_KEEP(.key = str_from(key.name),
                                 .file_id = options->file->id,
                                 .spec = spec,
                                 .size = facts->size,
                                 .sha256 = ((struct str){(const char *)facts->sha256,
                                                         sizeof(facts->sha256)}),
                                 .mime_type = str_from(variant_type(options->wanted.format)),
                                 .width = made->width,
                                 .height = made->height)),
        db_call(SQL_VARIANTS_EVICT(.file_id = options->file->id, .most = VARIANTS_MAX)),
    };

    int rc = upload_commit_by(upload, calls, ARRAY_LEN(calls));
    if (rc == 0)
        files_bytes_remove(&options->project->db, &calls[1].rows);
    if (rc ==
        FILES_COLLECTED) /* another process has made the variant first: its row is found next */
        return 0;
    return rc == DB_FOREIGN_KEY ? FILES_MISSING : rc;
}

AWAITS static int variant_create(const struct variant_options *options, struct str spec)
{
    const struct upload_config config = {
        .task = options->task,
        .directory = options->directory,
        .project = options->project,
    };
    struct media_file file = {.size = options->file->size};
    struct upload *upload = upload_new(&config);
    struct media_facts made = {0};

    file_key_set(options->project->number, options->file->key, &file.key);
    TRY(upload_begin(upload, STR("variant")));
    TRY(media_make(options->task,
                   &file,
                   &options->wanted,
                   options->is_anonymous,
                   variant_chunk_write,
                   upload,
                   &made));
    if (made.width == 0 || made.width > MEDIA_SIDE_LIMIT || made.height == 0 ||
        made.height > MEDIA_SIDE_LIMIT)
        return PICTURE_MALFORMED; /* media-sandbox reports an impossible size */
    TRY(upload_end(upload));
    return variant_store(options, spec, upload, &made);
}

AWAITS static int variant_make_once(const struct variant_options *options, struct str spec)
{
    struct variant_flight *known = flight_find(options, spec);
    struct variant_flight flight = {
        .project = options->project->number, .file = options->file->id, .spec = spec};

    if (known)
        return flight_wait(options->task, known);
    list_init(&flight.waiters);
    list_append(&flights, &flight.link);
    int rc = variant_create(options, spec);
    flight_end(&flight, rc);
    return rc;
}

/* --- finding --- */

AWAITS static int variant_look_up(const struct variant_options *options,
                                  struct str spec,
                                  struct file_row *ret,
                                  bool *ret_found)
{
    struct rows rows;

    TRY(db_query(options->task,
                 &options->project->db,
                 SQL_VARIANT_GET(.file_id = options->file->id, .spec = spec),
                 &rows));
    *ret_found = rows.count > 0;
    if (rows.count == 0)
        return 0;
    const struct sql_variant_get_row row = sql_variant_get_row(&rows, 0);
    *ret = (struct file_row){
        .id = options->file->id,
        .size = row.size,
        .created_ms = row.created_at,
        .key = row.key,
        .filename = options->file->filename,
        .mime_type = str_from(variant_type(options->wanted.format)),
        .sha256 = row.sha256,
    };
    return 0;
}

int variant_find(const struct variant_options *options, struct file_row *ret)
{
    struct str spec = variant_spec(options);
    bool found = false;

    for (int tries = 0; tries < TRIES; tries++) {
        TRY(variant_look_up(options, spec, ret, &found));
        if (found)
            return 0;
        TRY(variant_make_once(options, spec));
    }
    TRY(variant_look_up(options, spec, ret, &found));
    return found ? 0 : FILES_UNAVAILABLE;
}

int variant_row_remove(const struct variant_options *options, const struct file_row *variant)
{
    struct rows rows;

    TRY(db_query(options->task,
                 &options->project->db,
                 SQL_VARIANT_FORGET(.file_id = options->file->id, .key = variant->key),
                 &rows));
    files_bytes_remove(&options->project->db, &rows);
    return 0;
}
