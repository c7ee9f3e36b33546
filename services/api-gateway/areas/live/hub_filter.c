/* Filters of listeners. Listeners with the same filter and view of the entity share one struct
 * hub_test. */
#include "areas/live/hub.h"

#include "base/map.h"

#define KEY_BYTES ((size_t)64 * 1024)

/* Returns whether the filter follows relations: only callers with the same rights share it. */
static bool filter_is_personal(const struct records_filter *filter)
{
    for (size_t i = 0; i < filter->item_count; i++)
        if (memchr(filter->items[i].field.ptr, '.', filter->items[i].field.len))
            return true;
    return false;
}

static struct str test_key(struct arena *arena,
                           const struct caller *caller,
                           const struct entity *entity,
                           const struct records_filter *filter)
{
    struct strbuf key;

    strbuf_init(&key, arena, KEY_BYTES);
    strbuf_printf(&key,
                  "%lld %llx",
                  (long long)entity->id,
                  (unsigned long long)changes_view_key(caller, entity));
    if (filter_is_personal(filter))
        strbuf_printf(&key, " %p", (const void *)caller->rights);
    for (size_t i = 0; i < filter->item_count; i++) {
        const struct records_condition *condition = &filter->items[i];
        for (size_t k = 0; k < condition->group_count; k++)
            strbuf_printf(&key,
                          " %c%lld",
                          condition->groups[k].is_or ? 'o' : 'a',
                          (long long)condition->groups[k].slot);
        strbuf_printf(&key, " %.*s %d ", STR_ARG(condition->field), (int)condition->op);
        strbuf_printf(&key, "%zu:%.*s", condition->value.len, STR_ARG(condition->value));
        for (size_t k = 0; k < condition->list_count; k++)
            strbuf_printf(&key, ",%zu:%.*s", condition->list[k].len, STR_ARG(condition->list[k]));
    }
    return strbuf_view(&key);
}

static struct records_filter copy_filter(struct arena *arena, const struct records_filter *filter)
{
    struct records_condition *items = ARENA_ARRAY(arena, items, filter->item_count);

    for (size_t i = 0; i < filter->item_count; i++) {
        items[i] = filter->items[i];
        items[i].name = arena_dup(arena, items[i].name);
        items[i].field = arena_dup(arena, items[i].field);
        items[i].value = arena_dup(arena, items[i].value);
        if (!items[i].list)
            continue;
        struct str *list = ARENA_ARRAY(arena, list, items[i].list_count);
        for (size_t k = 0; k < items[i].list_count; k++)
            list[k] = arena_dup(arena, filter->items[i].list[k]);
        items[i].list = list;
    }
    return (struct records_filter){items, filter->item_count};
}

struct hub_test *hub_test_get(struct hub *hub,
                              const struct caller *caller,
                              const struct entity *entity,
                              const struct records_filter *filter)
{
    struct arena *arena;
    struct hub_test *test;

    if (filter->item_count == 0)
        return NULL;
    arena = arena_new(0);
    struct str key = test_key(arena, caller, entity, filter);
    test = map_get(hub->tests, key);
    if (test) {
        arena_free(arena);
        test->refs++;
        return test;
    }
    test = ARENA_NEW(arena, test);
    *test = (struct hub_test){
        .refs = 1,
        .hub = hub,
        .arena = arena,
        .key = key,
        .entity_id = entity->id,
        .caller = *caller,
        .filter = copy_filter(arena, filter),
        .is_personal = filter_is_personal(filter),
        .index = SIZE_MAX,
    };
    test->caller.rights = rights_ref((struct rights *)caller->rights);
    (void)map_put(hub->tests, test->key, test);
    return test;
}

void hub_test_unref(struct hub_test *test)
{
    if (!test || --test->refs > 0)
        return;
    (void)map_remove(test->hub->tests, test->key);
    rights_unref((struct rights *)test->caller.rights);
    arena_free(test->arena);
}
