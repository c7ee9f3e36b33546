/*
 * Projects: found by slug, loaded once, kept in sync with the database. A request holds the
 * project, model snapshot and settings that it started with. A sync replaces them for later
 * requests.
 */
#include "project/project.h"

#include "base/clock.h"
#include "base/panic.h"
#include "json/schema.h"
#include "log/log.h"
#include "project/project_private.h"
#include "project_sql.h"

#define LOAD_MS 5000

/* --- references --- */

struct project *project_ref(struct project *project)
{
    MUST(project->refs > 0);
    project->refs++;
    return project;
}

static void facts_unref(struct project_texts *facts)
{
    if (facts != NULL && --facts->refs == 0)
        arena_free(facts->arena);
}

void project_unref(struct project *project)
{
    MUST(project->refs > 0);
    if (--project->refs > 0)
        return;
    project_cache_free(project);
    model_unref(project->model);
    facts_unref(project->cache->facts);
    data_keys_wipe(project);
    arena_free(project->cache->arena); /* the project itself is in this arena */
}

struct project_references {
    struct project *project;
    struct model *model;
    struct project_texts *facts;
};

static void hold_drop(void *ptr)
{
    struct project_references *hold = ptr;

    model_unref(hold->model);
    facts_unref(hold->facts);
    project_unref(hold->project);
}

void project_hold(struct arena *arena, struct project *project)
{
    struct project_references *hold = arena_alloc(arena, sizeof(*hold));

    project->cache->facts->refs++;
    *hold = (struct project_references){
        .project = project_ref(project),
        .model = model_ref(project->model),
        .facts = project->cache->facts,
    };
    arena_defer(arena, hold_drop, hold);
}

/* --- reading --- */

/* Makes a project from its control row, without settings and model, which project_refresh() reads.
 * Returns NULL when the row names a server that this process does not know. */
static struct project *project_new(struct directory *directory, const struct rows *rows)
{
    const struct sql_project_row row = sql_project_row(rows, 0);
    struct db_server *server = directory_server(directory, row.server);

    if (server == NULL) {
        log_error("project.unknown_server", L_STR("server", row.server));
        return NULL;
    }
    struct arena *arena = arena_new(0);
    struct project *project = ARENA_NEW(arena, project);
    project->cache = ARENA_NEW(arena, project->cache);
    project->cache->arena = arena;
    project->cache->directory = directory;
    project->cache->used_ms = clock_mono_ms();
    project->refs = 1;
    project->number = row.number;
    project->slug = arena_dup(arena, row.slug);
    project->partition = (int)row.partition;
    project->created_ms = row.created_at;
    project->db = (struct db){.server = server, .schema = project->number};
    project_cache_init(project);
    return project;
}

/* co: reads the settings, and the model when its version has moved, and then replaces all of them
 * at once. The control row with the epoch was read before, so the new state is at least as new as
 * the epoch. */
static int project_refresh(struct task *task, struct project *project, const struct rows *control)
{
    const struct sql_project_row row = sql_project_row(control, 0);
    struct arena *arena = arena_new(1024);
    struct project_texts *facts = ARENA_NEW(arena, facts);
    struct project_settings settings;
    struct model *model = NULL;
    int64_t version;

    *facts = (struct project_texts){.arena = arena, .refs = 1};
    int rc = settings_read(task, project, arena, &settings, &version);
    if (rc == 0 && (project->model == NULL || project->model->version != version)) {
        project->cache->directory->stats.model_loads++;
        rc = model_load(task, &project->db, &model);
    }
    if (rc != 0) {
        facts_unref(facts);
        return rc;
    }
    project->name = arena_dup(arena, row.name);
    project->settings = settings;
    project->updated_ms = row.updated_at;
    /* Drop rights and credentials read under the old epoch here: after this, no comparison of
     * epochs finds the difference. */
    if (project->epoch != row.epoch)
        project_cache_drop(project);
    project->epoch = row.epoch;
    facts_unref(project->cache->facts);
    project->cache->facts = facts;
    if (model != NULL) {
        model_unref(project->model);
        project->model = model;
    }
    return 0;
}

/* --- find --- */

struct slug_load {
    struct directory *directory;
    struct str slug;
};

static int project_load_run(struct task *task, void *arg)
{
    const struct slug_load *load = arg;
    struct directory *directory = load->directory;
    struct rows rows;

    int rc = db_query(task, &directory->control, SQL_PROJECT_BY_SLUG(.slug = load->slug), &rows);
    directory_control_record(directory, rc);
    if (rc != 0)
        return PROJECT_UNAVAILABLE;
    if (rows.count == 0) {
        directory_missing_set(directory, load->slug);
        return PROJECT_NOT_FOUND;
    }
    struct project *project = project_new(directory, &rows);
    if (project == NULL)
        return PROJECT_UNAVAILABLE;
    rc = project_refresh(task, project, &rows);
    if (rc != 0) {
        project_unref(project);
        return PROJECT_UNAVAILABLE;
    }
    directory_add(directory, project);
    return 0;
}

static void project_load_end(void *arg)
{
    const struct slug_load *load = arg;

    (void)map_remove(load->directory->loads, load->slug);
}

static int project_load_join(struct task *task, struct directory *directory, struct str slug)
{
    struct singleflight *singleflight = map_get(directory->loads, slug);

    if (singleflight == NULL) {
        singleflight = singleflight_new(directory, LOAD_MS);
        struct slug_load *load = ARENA_NEW(singleflight->task.arena, load);
        *load = (struct slug_load){
            .directory = directory,
            .slug = arena_dup(singleflight->task.arena, slug),
        };
        (void)map_put(directory->loads, slug, singleflight);
        singleflight_run(singleflight, project_load_run, project_load_end, load);
    }
    return singleflight_join(task, singleflight);
}

bool project_is_known(const struct directory *directory, struct str slug)
{
    return map_get(directory->projects, slug) != NULL || map_get(directory->loads, slug) != NULL ||
           !schema_format_ok("slug", slug) || directory_is_missing(directory, slug);
}

int project_epochs_wait(struct task *task, struct directory *directory)
{
    return epoch_wait_fresh(task, directory);
}

int project_find(struct task *task,
                 struct directory *directory,
                 struct str slug,
                 struct project **ret_project)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        TRY(epoch_wait_fresh(task, directory));
        struct project *project = map_get(directory->projects, slug);
        if (project != NULL) {
            if (attempt == 0)
                directory->stats.project_hits++;
            project->cache->used_ms = directory->control_read_ms;
            project_hold(task->arena, project);
            *ret_project = project;
            return 0;
        }
        if (!schema_format_ok("slug", slug) || directory_is_missing(directory, slug))
            return PROJECT_NOT_FOUND;
        if (attempt == 0)
            directory->stats.project_misses++;
        TRY(project_load_join(task, directory, slug));
    }
    return PROJECT_NOT_FOUND; /* deleted again before this task ran */
}

int project_find_number(struct task *task,
                        struct directory *directory,
                        int64_t number,
                        struct project **ret_project)
{
    const struct project *known = directory_by_number(directory, number);
    struct str slug;
    struct rows rows;

    if (known != NULL) {
        slug = arena_dup(task->arena, known->slug);
    } else {
        int rc = db_query(task, &directory->control, SQL_PROJECT_SLUG(.number = number), &rows);
        if (rc != 0)
            return rc < 0 ? rc : PROJECT_UNAVAILABLE;
        if (rows.count == 0)
            return PROJECT_NOT_FOUND;
        slug = sql_project_slug_row(&rows, 0).slug;
    }
    return project_find(task, directory, slug, ret_project);
}

/* --- sync --- */

static int sync_once(struct task *task, struct project *project)
{
    struct project_cache *cache = project->cache;
    struct directory *directory = cache->directory;
    struct rows rows;
    bool does_touch = cache->epoch_raise_due;

    cache->epoch_raise_due = false;
    int rc = db_query(task,
                      &directory->control,
                      does_touch ? &SQL_PROJECT_TOUCH : &SQL_PROJECT_BY_NUMBER,
                      SQL_PROJECT_KEY_ARGS(.number = project->number),
                      &rows);
    directory_control_record(directory, rc);
    if (rc != 0) {
        cache->epoch_raise_due =
            cache->epoch_raise_due || does_touch; /* the next tick tries again */
        if (does_touch)
            log_warn("project.touch_failed", L_STR("project", project->slug), L_RESULT("rc", rc));
        return PROJECT_UNAVAILABLE;
    }
    if (rows.count == 0) {
        directory_remove(directory, project);
        return PROJECT_NOT_FOUND;
    }
    const struct sql_project_row row = sql_project_row(&rows, 0);
    rc = project_refresh(task, project, &rows);
    if (does_touch) /* after the refresh, so that our own message has no effect here */
        epoch_publish(directory, project->number, row.epoch);
    return rc == 0 ? 0 : PROJECT_UNAVAILABLE;
}

/* co: serves the tickets drawn before this run began. Later tickets wait for the next run, so that
 * a waiter never waits for callers that came after it. */
static int sync_run(struct task *task, void *arg)
{
    struct project *project = arg;
    struct project_cache *cache = project->cache;
    uint64_t ticket = cache->sync_wanted;

    int rc = sync_once(task, project);
    if (rc == 0)
        cache->sync_done = ticket;
    cache->sync_repeat = rc == 0 && ticket < cache->sync_wanted;
    return rc;
}

static void sync_end(void *arg);

static void sync_launch(struct project *project)
{
    struct project_cache *cache = project->cache;

    cache->sync = singleflight_new(cache->directory, LOAD_MS);
    singleflight_run(cache->sync, sync_run, sync_end, project_ref(project));
}

static void sync_end(void *arg)
{
    struct project *project = arg;

    project->cache->sync = NULL;
    if (project->cache->sync_repeat)
        sync_launch(project);
    project_unref(project);
}

void project_sync_start(struct project *project)
{
    project->cache->sync_wanted++;
    if (project->cache->sync == NULL)
        sync_launch(project);
}

int project_sync_wait(struct task *task, struct project *project)
{
    struct project_cache *cache = project->cache;
    uint64_t ticket = cache->sync_wanted;

    while (cache->sync_done < ticket && cache->sync != NULL)
        TRY(singleflight_join(task, cache->sync));
    return cache->sync_done < ticket ? PROJECT_UNAVAILABLE : 0;
}

int project_sync(struct task *task, struct project *project)
{
    project_sync_start(project);
    return project_sync_wait(task, project);
}

int project_reload_model(struct task *task, struct project *project, const struct model **ret_model)
{
    TRY(project_sync(task, project));
    project_hold(task->arena, project);
    *ret_model = project->model;
    return 0;
}

void project_epoch_raise(struct task *task, struct directory *directory, struct project *project)
{
    (void)directory; /* a project belongs to one directory */
    project_cache_drop(project);
    project->cache->epoch_raise_due = true;
    int rc = project_sync(task, project); /* continues when this task is cancelled */
    if (rc > 0)
        log_warn("project.sync_failed", L_STR("project", project->slug));
    project_hold(task->arena, project);
}
