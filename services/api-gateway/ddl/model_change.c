/* The transaction around a model change, and the stored form of fields. */
#include "ddl/model_change.h"

#include "base/backoff.h"
#include "json/jr.h"
#include "model_change_sql.h"
#include "stages/stages.h"

#define TRIES        4
#define OPTIONS_SIZE 4096

/* Reads the model again if its version has changed. The lock prevents further changes until the
 * commit. */
AWAITS static int use_locked_model(struct req *r, int64_t version)
{
    struct model *model;

    if (r->scope->model->version == version)
        return 0;
    TRY(sql_check(r, model_load(&r->task, r->scope->db, &model)));
    model_attach(r->task.arena, model);
    r->scope->model = model;
    return 0;
}

AWAITS static int change_attempt(struct req *r, model_change_fn change, void *arg)
{
    struct db_call lock[] = {db_call(SQL_MODEL_SET_TIMEOUT()), db_call(SQL_MODEL_LOCK())};
    struct model_audit audit = {0};

    TRY(sql_begin_ddl(r));
    TRY(sql_batch(r, lock, ARRAY_LEN(lock)));
    TRY(use_locked_model(r, sql_model_lock_row(&lock[1].rows, 0).model_version));
    TRY(change(r, arg, &audit));
    struct db_call finish[] = {
        db_call(SQL_MODEL_BUMP()),
        gateway_audit(r, audit.action, audit.target, audit.target_id, audit.detail),
    };
    TRY(sql_batch(r, finish, ARRAY_LEN(finish)));
    return sql_commit(r);
}

/* Returns whether the change failed to get a table's lock: nothing was changed, and a retry may
 * succeed. */
static bool is_lock_timeout(const struct req *r, int rc)
{
    return rc == 503 && r->scope->db_failure == DB_LOCKED;
}

int model_change(struct req *r, model_change_fn change, void *arg)
{
    struct backoff pause = {.first_ms = 100, .most_ms = 400};
    size_t headers = r->extra_headers.len;
    int rc = change_attempt(r, change, arg);

    while (rc != 0) {
        gateway_roll_back(r);
        if (pause.tries + 1 == TRIES || !is_lock_timeout(r, rc))
            return rc;
        TRY(task_sleep(&r->task, backoff_next(&pause)));
        handler_discard_answer(r, headers);
        rc = change_attempt(r, change, arg);
    }
    gateway_raise_epoch(r);
    search_notify(gateway_directory(), r->scope->project);
    return 0;
}

/* --- fields as they are stored --- */

static void put_bound(struct jw *w, const char *name, bool set, struct str value)
{
    if (!set)
        return;
    jw_lit(w, name);
    jw_raw(w, value);
}

/* Prints only the options that the type has. A relation's entity is stored as target_id, not by
 * name. */
static struct str print_options(struct arena *arena, const struct model_field *field)
{
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, arena, OPTIONS_SIZE);
    jw_init(&w, &out);
    jw_obj(&w);
    if (field->max_length > 0)
        JW_I64(&w, "max_length", field->max_length);
#define SEARCH_OPTION(member, ...)                                                                 \
    if (field->member > 0)                                                                         \
        JW_I64(&w, #member, field->member);
#include "model/search_option.def"
    put_bound(&w, "min", field->has_min, field->min_text);
    put_bound(&w, "max", field->has_max, field->max_text);
    if (field->type == TYPE_ENUM)
        JW_STR(&w, "enum", field->values->name);
    if (field->type == TYPE_RELATION) {
        JW_BOOL(&w, "many", field->is_many);
        JW_CSTR(&w, "on_delete", model_on_delete_name(field->on_delete));
    }
    jw_obj_end(&w);
    return strbuf_view(&out);
}

/* A call of model_field_add or model_field_update (model_change.sql), which share their
 * parameters. */
static struct db_call
field_call(struct arena *arena, const struct sql *sql, int64_t id, const struct model_field *field)
{
    return db_call_new(
        arena,
        sql,
        SQL_MODEL_FIELD_ARGS(.id = id,
                             .name = field->name,
                             .type = str_from(model_type_info(field->type)->name),
                             .required = field->required,
                             .is_unique = field->unique,
                             .indexed = field->indexed,
                             .default_value = field->default_value
                                                  ? jr_print(arena, field->default_value)
                                                  : STR_NONE,
                             .searchable = field->searchable,
                             .is_public = field->is_public,
                             .options = print_options(arena, field),
                             .target_id = field->target ? some_i64(field->target->id) : NO_I64));
}

int model_fields_add(struct req *r,
                     const struct entity *entity,
                     struct model_field *fields,
                     size_t count)
{
    struct arena *arena = r->task.arena;
    struct db_call *calls = ARENA_ARRAY(arena, calls, count);

    if (!count)
        return 0;
    for (size_t i = 0; i < count; i++)
        calls[i] = field_call(arena, &SQL_MODEL_FIELD_ADD, entity->id, &fields[i]);
    TRY(sql_batch(r, calls, count));
    for (size_t i = 0; i < count; i++) {
        fields[i].id = sql_model_field_add_row(&calls[i].rows, 0).id;
        fields[i].column = arena_printf(arena, "f_%lld", (long long)fields[i].id);
    }
    return 0;
}

int model_field_store(struct req *r, const struct model_field *field)
{
    struct db_call call = field_call(r->task.arena, &SQL_MODEL_FIELD_UPDATE, field->id, field);

    return sql_batch(r, &call, 1);
}
