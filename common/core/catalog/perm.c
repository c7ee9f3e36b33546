/* Permission tables, generated from perm.def. */
#include "catalog/perm.h"

#include <pthread.h>

#include "base/map.h"
#include "base/panic.h"
#include "base/result.h"

static const struct perm_info infos[PERM_COUNT] = {
#define PERM(symbol, resource, action, holder)                                                     \
    [symbol] = {resource ":" action, resource, action, holder},
#include "catalog/perm.def"
#undef PERM
};

_Static_assert(PERM_COUNT - 1 == 92, "there are 92 system permissions");
_Static_assert(PERM_COUNT <= 128, "perm_set has 128 bits");

static const char *const action_names[] = {
    [ACT_READ] = "read",
    [ACT_CREATE] = "create",
    [ACT_UPDATE] = "update",
    [ACT_DELETE] = "delete",
    [ACT_TRIGGER] = "trigger",
};

/* Maps names to infos. The map is built once and then only read. */
static struct map *by_name;
static pthread_once_t by_name_once = PTHREAD_ONCE_INIT;

static void by_name_build(void)
{
    by_name = map_new();
    for (size_t i = 1; i < ARRAY_LEN(infos); i++) {
        void *before = map_put(by_name, str_from(infos[i].name), (void *)&infos[i]);
        MUST(before == NULL);
    }
}

const struct perm_info *perm_info(enum perm perm)
{
    MUST(perm > PERM_NONE && perm < PERM_COUNT);
    return &infos[perm];
}

const char *perm_name(enum perm perm)
{
    switch (perm) {
    case PERM_ENTITY_READ:
        return "{entity}:read";
    case PERM_ENTITY_CREATE:
        return "{entity}:create";
    case PERM_ENTITY_UPDATE:
        return "{entity}:update";
    case PERM_ENTITY_DELETE:
        return "{entity}:delete";
    default:
        return perm_info(perm)->name;
    }
}

enum perm perm_find(struct str name)
{
    pthread_once(&by_name_once, by_name_build);
    const struct perm_info *info = map_get(by_name, name);
    return info ? (enum perm)(info - infos) : PERM_NONE;
}

bool perm_set_has(const struct perm_set *set, enum perm perm)
{
    return perm > PERM_NONE && perm < PERM_COUNT && (set->bits[perm / 64] >> (perm % 64) & 1) != 0;
}

void perm_set_add(struct perm_set *set, enum perm perm)
{
    MUST(perm > PERM_NONE && perm < PERM_COUNT);
    set->bits[perm / 64] |= (uint64_t)1 << (perm % 64);
}

void perm_set_intersect(struct perm_set *set, const struct perm_set *other)
{
    set->bits[0] &= other->bits[0];
    set->bits[1] &= other->bits[1];
}

const char *perm_action_name(enum perm_action action)
{
    MUST((size_t)action < ARRAY_LEN(action_names));
    return action_names[action];
}

int perm_action_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(action_names); i++)
        if (str_is(name, action_names[i]))
            return (int)i;
    return -1;
}

const char *perm_holder_name(enum perm_holder holder)
{
    switch (holder) {
    case PERM_STANDARD:
        return "standard";
    case PERM_ADMINISTRATOR:
        return "administrator";
    case PERM_OPT_IN:
        return "opt_in";
    }
    PANIC("unknown permission holder %d", (int)holder);
}
