/* Measures the recent use of a PostgreSQL server's time by each project, to find the projects that
 * keep the server busy. */
#include "db/fair_private.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/panic.h"

enum {
    US_PER_MS = 1000,
    OVER_MIN_MS = FAIR_WINDOW_MS / 2, /* use of a statement that runs half of the time */
    STEPS_MAX = 16 * FAIR_STEPS,      /* after this many FAIR_STEP_MS all use is forgotten */
};

struct project_use {
    int64_t schema;
    struct list recent;
    struct fair_use use;
    struct fair_use kinds[2]; /* use by kind: heavy reads [1], other statements [0] */
    int64_t seen_ms;
};

void fair_init(struct fair *fair, unsigned at_once, unsigned processes)
{
    MUST(at_once > 0 && processes > 0);
    *fair = (struct fair){.projects = map_new(), .at_once = at_once, .processes = processes};
    list_init(&fair->recent);
}

static struct str fair_key_of(const int64_t *schema)
{
    return (struct str){(const char *)schema, sizeof(*schema)};
}

static void forget_oldest(struct fair *fair)
{
    struct project_use *project = LIST_ITEM(list_shift(&fair->recent), struct project_use, recent);

    (void)map_remove(fair->projects, fair_key_of(&project->schema));
    fair->count--;
    free(project);
}

void fair_done(struct fair *fair)
{
    while (!list_empty(&fair->recent))
        forget_oldest(fair);
    map_free(fair->projects);
    fair->projects = NULL;
}

/* Forgets use in whole steps, so that the result does not depend on how often this is called. */
static void fair_use_decay(struct fair_use *use, int64_t now_ms)
{
    int64_t steps = now_ms / FAIR_STEP_MS - use->at_ms / FAIR_STEP_MS;

    if (steps <= 0)
        return;
    use->at_ms = now_ms;
    if (steps > STEPS_MAX)
        use->us = 0;
    for (; steps > 0 && use->us > 0; steps--)
        use->us -= (use->us + FAIR_STEPS - 1) / FAIR_STEPS;
}

static void fair_add(struct fair_use *use, int64_t ms, int64_t now_ms)
{
    fair_use_decay(use, now_ms);
    use->us += (uint64_t)ms * US_PER_MS;
}

static void forget_inactive(struct fair *fair, int64_t now_ms)
{
    while (!list_empty(&fair->recent)) {
        struct project_use *oldest = LIST_ITEM(fair->recent.next, struct project_use, recent);
        /* The analyzer cannot follow how list_shift() relinks the neighbours of an earlier item. */
        if (now_ms - oldest->seen_ms < FAIR_ACTIVE_MS) /* NOLINT(clang-analyzer-unix.Malloc) */
            return;
        forget_oldest(fair);
    }
}

static struct project_use *fair_find(struct fair *fair, int64_t schema)
{
    struct project_use *project = map_get(fair->projects, fair_key_of(&schema));

    if (project != NULL)
        return project;
    project = calloc(1, sizeof(*project));
    MUST(project != NULL);
    project->schema = schema;
    list_init(&project->recent);
    (void)map_put(fair->projects, fair_key_of(&project->schema), project);
    fair->count++;
    return project;
}

void fair_used(struct fair *fair, int64_t schema, bool heavy, int64_t ms, int64_t now_ms)
{
    if (schema == 0)
        return;
    forget_inactive(fair, now_ms);
    struct project_use *project = fair_find(fair, schema);
    int64_t used_ms = ms > 0 ? ms : 0;
    fair_add(&project->use, used_ms, now_ms);
    fair_add(&project->kinds[heavy], used_ms, now_ms);
    fair_add(&fair->all, used_ms, now_ms);
    project->seen_ms = now_ms;
    list_remove(&project->recent);
    list_append(&fair->recent, &project->recent);
}

bool fair_is_over(struct fair *fair, int64_t schema, int64_t now_ms)
{
    forget_inactive(fair, now_ms);
    const struct project_use *project = map_get(fair->projects, fair_key_of(&schema));
    if (project == NULL || fair->count < 2)
        return false;
    struct fair_use own = project->use;
    fair_use_decay(&own, now_ms);
    fair_use_decay(&fair->all, now_ms);
    return own.us >= (uint64_t)fair->at_once * OVER_MIN_MS * US_PER_MS &&
           own.us * fair->count * 2 > fair->all.us * 3;
}

bool fair_is_resting(struct fair *fair, int64_t schema, bool heavy, int64_t now_ms)
{
    const struct project_use *project = map_get(fair->projects, fair_key_of(&schema));

    if (project == NULL || fair->processes == 1)
        return false;
    struct fair_use use = project->kinds[heavy];
    fair_use_decay(&use, now_ms);
    return use.us * fair->processes > (uint64_t)fair->at_once * FAIR_WINDOW_MS * US_PER_MS;
}
