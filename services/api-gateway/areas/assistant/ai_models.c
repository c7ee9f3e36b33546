/* The cache of models. */
#include "areas/assistant/ai_models.h"

#include "areas/assistant/ai_request.h"
#include "base/clock.h"

#define CACHE_MS    30000
#define CACHE_SLOTS 64 /* each holds at most MODEL_NAMES_MAX names: 40 KB */

/* The models of one project, until another project with the same slot replaces them. */
static struct cached_models {
    struct arena *arena; /* NULL = empty */
    int64_t project, updated_ms, until_ms;
    struct model_names names;
} places[CACHE_SLOTS];

static struct model_names names_dup(struct arena *arena, const struct model_names *names)
{
    struct model_names copy = {ARENA_ARRAY(arena, copy.items, names->count + 1), names->count};

    for (size_t i = 0; i < names->count; i++)
        copy.items[i] = arena_dup(arena, names->items[i]);
    return copy;
}

static void models_cache_put(struct cached_models *entry,
                             int64_t project,
                             const struct ai_config *config,
                             const struct model_names *names)
{
    arena_free(entry->arena);
    *entry = (struct cached_models){.arena = arena_new(0),
                                    .project = project,
                                    .updated_ms = config->updated_ms,
                                    .until_ms = clock_mono_ms() + CACHE_MS};
    entry->names = names_dup(entry->arena, names);
}

/* co: Reads the cache, else the server. Results as of model_list(). */
AWAITS static int models_cache_get(struct task *task,
                                   const struct ai_config *config,
                                   struct model_names *ret_names,
                                   struct model_refusal *ret_refusal)
{
    struct cached_models *entry = &places[(uint64_t)task->project % CACHE_SLOTS];

    if (entry->arena && entry->project == task->project &&
        entry->updated_ms == config->updated_ms && clock_mono_ms() < entry->until_ms) {
        *ret_names = names_dup(task->arena, &entry->names);
        return 0;
    }
    TRY(model_list(task, &config->server, ret_names, ret_refusal));
    models_cache_put(entry, task->project, config, ret_names);
    return 0;
}

int ai_models_load(struct req *r, struct ai_config *ret_config, struct model_names *ret_names)
{
    struct model_refusal refusal;
    size_t allowed = 0;

    TRY(ai_config_load(r, ret_config));
    int rc = models_cache_get(&r->task, ret_config, ret_names, &refusal);
    if (rc == ASSISTANT_REFUSED)
        ai_refusal_store(
            &(struct ai_request){.project = r->task.project, .server = &ret_config->server},
            &refusal);
    TRY(ai_server_check(r, rc, &refusal));
    for (size_t i = 0; i < ret_names->count; i++)
        if (ai_model_is_allowed(ret_config, ret_names->items[i]))
            ret_names->items[allowed++] = ret_names->items[i];
    ret_names->count = allowed;
    return 0;
}

static void ai_models_stop(void)
{
    for (size_t i = 0; i < CACHE_SLOTS; i++) {
        arena_free(places[i].arena);
        places[i] = (struct cached_models){0};
    }
}

const struct area_life ai_models_life = {.stop = ai_models_stop};
