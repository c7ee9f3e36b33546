/*
 * `--verify` takes the lease of one project after the other and indexes changes that wait. Then it
 * verifies each live generation in two passes:
 *
 *     verify_records()      indexes every record once more, which changes nothing where the forward
 *                           list of the record is right
 *     verify_lists_step()   compares sums over all forward lists and all leaves (list_sums.h), and
 *                           makes lists that differ again from the forward lists
 */
#include "verify.h"

#include "base/clock.h"
#include "batch.h"
#include "build.h"
#include "index_sql.h"
#include "live.h"
#include "loop/task.h"
#include "source_ids.h"
#include "verify_lists.h"
#include "verify_sql.h"

#define CLAIM_LIMIT_MS 60000
#define CLAIM_PAUSE_MS 50
#define RECORDS        500 /* per step */

struct verify {
    struct index index;
    void (*say)(const char *text);
    struct str slug;
    size_t records, differ; /* of the current generation */
};

/* co: Waits for the lease: a daemon that writes the index releases it after its run. */
AWAITS static int verify_claim(struct task *task, struct verify *verify)
{
    int64_t end_ms = clock_mono_ms() + CLAIM_LIMIT_MS;
    struct rows rows;

    for (;;) {
        TRY(db_query(task, verify->index.db, SQL_VERIFY_CLAIM(), &rows));
        if (rows.count > 0)
            break;
        if (clock_mono_ms() > end_ms)
            return INDEX_LOST;
        TRY(task_sleep(task, CLAIM_PAUSE_MS));
    }
    verify->index.token = sql_verify_claim_row(&rows, 0).token;
    return 0;
}

AWAITS static int verify_renew(struct task *task, struct verify *verify)
{
    struct rows rows;

    TRY(db_query(task, verify->index.db, SQL_VERIFY_RENEW(.token = verify->index.token), &rows));
    return rows.count > 0 ? 0 : INDEX_LOST;
}

/* Renews the lease, then runs fn with memory of its own. */
AWAITS static int verify_scope(struct task *task,
                               struct verify *verify,
                               int (*fn)(struct task *task, struct verify *verify, void *arg),
                               void *arg)
{
    struct arena *own = task->arena;

    task->arena = arena_new(0);
    int rc = verify_renew(task, verify);
    if (rc == 0)
        rc = fn(task, verify, arg);
    arena_free(task->arena);
    task->arena = own;
    return rc;
}

/* --- changes that wait are no differences --- */

AWAITS static int verify_index_changes(struct task *task, struct verify *verify, void *arg)
{
    bool *more = arg;
    struct generations all;

    TRY(index_read_state(task, &verify->index, &all));
    return live_run(task, &verify->index, &all, more);
}

/* --- records --- */

struct verify_cursor {
    const struct generation *of;
    int64_t after;
    bool more;
};

AWAITS static int verify_records(struct task *task, struct verify *verify, void *arg)
{
    struct verify_cursor *cursor = arg;
    struct source_ids ids = {.arena = task->arena};
    const struct entity *entity = model_entity_by_id(verify->index.model, cursor->of->entity_id);
    struct index_shape fields;
    struct index_batch batch;

    cursor->more = false;
    if (entity == NULL)
        return 0;
    TRY(source_ids_check(task, verify->index.db, entity, 0, cursor->after, RECORDS, &ids));
    source_ids_cut(&ids, RECORDS);
    if (ids.count == 0)
        return 0;
    int64_t *some = ARENA_ARRAY(task->arena, some, ids.count);
    size_t count = 0;
    for (size_t i = 0; i < ids.count; i++)
        if (count == 0 || some[count - 1] != ids.items[i].id)
            some[count++] = ids.items[i].id;
    batch_init(&batch, task->arena, &verify->index);
    shape_of_fields(task->arena, entity, cursor->of->field_ids, &fields);
    batch_add(&batch, cursor->of, &fields, sql_i64s(some, count));
    TRY(batch_run(task, &batch));
    verify->records += count;
    verify->differ += batch.parts[0].changed;
    cursor->after = ids.next_cursor;
    cursor->more = true;
    return 0;
}

/* --- a generation --- */

static void verify_report(struct arena *arena,
                          const struct verify *verify,
                          const struct entity *entity,
                          const struct verify_lists *lists)
{
    bool fine = verify->differ == 0 && lists->differ == 0 && !lists->has_missing_words;

    verify->say(arena_printf(arena,
                             "%.*s %.*s: %zu records, %zu with outdated words, %zu lists that "
                             "differed%s",
                             STR_ARG(verify->slug),
                             STR_ARG(entity->name),
                             verify->records,
                             verify->differ,
                             lists->differ,
                             fine                   ? ""
                             : lists->needs_rebuild ? ": the index is being rebuilt"
                                                    : ": repaired")
                    .ptr);
}

AWAITS static int verify_lists_of(struct task *task, struct verify *verify, void *arg)
{
    struct verify_lists *lists = arg;

    return verify_lists_step(task, &verify->index, lists);
}

AWAITS static int
verify_generation(struct task *task, struct verify *verify, const struct generation *of)
{
    const struct entity *entity = model_entity_by_id(verify->index.model, of->entity_id);
    struct verify_cursor cursor = {.of = of, .after = -1, .more = true};
    struct verify_lists lists = {.idx = of->idx};
    int rc = 0;

    verify->records = verify->differ = 0;
    while (rc == 0 && cursor.more)
        rc = verify_scope(task, verify, verify_records, &cursor);
    if (rc == INDEX_MALFORMED) {
        lists.needs_rebuild = lists.has_missing_words = true;
        rc = generation_replace(task, &verify->index, of->idx);
    }
    verify_lists_begin(&lists);
    while (rc == 0 && !lists.needs_rebuild && !lists.done)
        rc = verify_scope(task, verify, verify_lists_of, &lists);
    verify_lists_end(&lists);
    if (rc == 0 && !lists.needs_rebuild) {
        struct db_call recount =
            db_call(SQL_BUILD_RECOUNT(.idx = of->idx, .documents = lists.documents));
        rc = batch_exec(task, &verify->index, &recount, 1);
    }
    if (rc == 0 && entity != NULL)
        verify_report(task->arena, verify, entity, &lists);
    return rc;
}

/* --- projects --- */

AWAITS static int verify_leased(struct task *task, struct verify *verify)
{
    struct generations all;
    bool more = true;

    while (more)
        TRY(verify_scope(task, verify, verify_index_changes, &more));
    TRY(index_read_state(task, &verify->index, &all));
    for (size_t i = 0; i < all.count; i++)
        if (str_is(all.items[i].state, "live"))
            TRY(verify_generation(task, verify, &all.items[i]));
    return 0;
}

AWAITS static int verify_project(struct task *task,
                                 struct directory *directory,
                                 int64_t number,
                                 struct verify *verify)
{
    struct project *project;

    TRY(project_find_number(task, directory, number, &project));
    verify->index = (struct index){
        .project = project,
        .db = &project->db,
        .model = project->model,
        .arena = task->arena,
        .batch = RECORDS,
    };
    verify->slug = project->slug;
    TRY(verify_claim(task, verify));
    int rc = verify_leased(task, verify);
    int released =
        db_query(task, verify->index.db, SQL_INDEX_RELEASE(.token = verify->index.token), NULL);
    return rc != 0 ? rc : released;
}

int verify_all(struct task *task,
               struct directory *directory,
               void (*say)(const char *text),
               struct str *ret_reason)
{
    const struct str slug = daemon_job_argument();
    struct arena *own = task->arena;
    struct verify verify = {.say = say};
    struct rows rows;
    int rc = db_query(task,
                      directory_control(directory),
                      SQL_VERIFY_PROJECTS(.slug = slug.len > 0 ? slug : STR("")),
                      &rows);

    if (rc == 0 && slug.len > 0 && rows.count == 0)
        rc = PROJECT_NOT_FOUND;
    for (size_t i = 0; rc == 0 && i < rows.count; i++) {
        task->arena = arena_new(0);
        rc = verify_project(task, directory, sql_verify_projects_row(&rows, i).number, &verify);
        arena_free(task->arena);
        task->arena = own;
        if (rc == PROJECT_NOT_FOUND && slug.len == 0)
            rc = 0; /* deleted in the meantime */
    }
    if (rc != 0)
        *ret_reason = rc == INDEX_LOST
                          ? STR("another process is writing the index; run this again later")
                          : str_from(result_name(rc));
    return rc;
}
