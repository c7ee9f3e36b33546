/* Counters per minute, in memory that all workers of this gateway share. */
#include "stages/counters.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/panic.h"
#include "base/rand.h"

#define SLOTS        65536 /* a power of two; 16 bytes each */
#define SLOTS_SHARED 49152 /* most in use at once: probing needs a free quarter */
#define SLOTS_OF_ONE 4096  /* most that a project takes in a minute */
#define OWNERS       16384 /* projects that can be counted in one minute, about */
#define COARSE       16384 /* counters for callers without a slot */
#define COARSE_EACH  64    /* coarse counters of one project and class */
#define PROBES       16
#define WINDOW_MS    COUNTERS_WINDOW_MS

struct slot {
    _Atomic uint64_t key;   /* hash of principal and class; 0 = free */
    _Atomic uint64_t count; /* minute << 32 | requests */
};

/* Slots are shared as in loop/shares with leave_room: no project takes more slots than are still
 * free. So the first caller of another project finds a slot, however many addresses or users a
 * project has. Callers without a slot are counted together with others of their project. */
struct counters {
    struct slot slots[SLOTS];
    struct slot owners[OWNERS]; /* slots that a project took in this minute */
    struct slot coarse[COARSE];
    _Atomic uint64_t used; /* minute << 32 | slots taken in it */
};

static struct counters *counters;
static uint64_t seed;

void counters_prepare(void)
{
    counters =
        mmap(NULL, sizeof(*counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(counters != MAP_FAILED);
    seed = rand_u64();
}

uint64_t counters_mix(uint64_t hash, uint64_t value)
{
    hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
    hash = (hash ^ (hash >> 32)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 29)) * 0x94d049bb133111ebULL;
    return hash ^ (hash >> 32);
}

static uint64_t current_minute(void)
{
    return (uint64_t)clock_wall_ms() / WINDOW_MS;
}

/* Adds to a count of the current minute and returns the sum. */
static uint32_t counters_count(_Atomic uint64_t *count, uint32_t amount)
{
    uint64_t minute = current_minute();
    uint64_t seen = atomic_fetch_add(count, amount);

    if (seen >> 32 == minute)
        return (uint32_t)seen + amount;
    atomic_store(count, minute << 32 | amount);
    return amount;
}

/* Returns the slot of a key, or a slot that is free or whose minute has passed; NULL: there is none
 * nearby. *ret_new: the slot did not belong to the key. */
static struct slot *find_slot(struct slot *slots, size_t size, uint64_t key, bool *ret_new)
{
    for (uint64_t i = 0; i < PROBES; i++) {
        struct slot *slot = &slots[(key + i) & (size - 1)];
        uint64_t found = atomic_load(&slot->key);
        *ret_new = found != key;
        if (found == key)
            return slot;
        if (found && atomic_load(&slot->count) >> 32 >= current_minute())
            continue;
        return slot;
    }
    return NULL;
}

static bool counters_take_slot(struct slot *slot, uint64_t key)
{
    uint64_t found = atomic_load(&slot->key);

    if (found == key)
        return true;
    if (!atomic_compare_exchange_strong(&slot->key, &found, key))
        return false;
    atomic_store(&slot->count, current_minute() << 32);
    return true;
}

/* Counts one more slot for a project. Returns false when the project has its full share. */
static bool counters_take_quota(uint64_t owner)
{
    bool is_new;
    struct slot *slot = find_slot(counters->owners, OWNERS, owner, &is_new);
    uint32_t used = counters_count(&counters->used, 0);
    uint32_t capacity = used < SLOTS_SHARED ? SLOTS_SHARED - used : 0;

    if (!slot || !counters_take_slot(slot, owner))
        return false;
    uint32_t own = counters_count(&slot->count, 0);
    if (own >= SLOTS_OF_ONE || own >= capacity)
        return false;
    (void)counters_count(&slot->count, 1);
    (void)counters_count(&counters->used, 1);
    return true;
}

static bool is_coarse(const _Atomic uint64_t *count)
{
    const char *at = (const char *)count;

    return at >= (const char *)counters->coarse && at < (const char *)(counters->coarse + COARSE);
}

/* Returns the counter of a caller: the caller's own slot, or a coarse counter that the caller
 * shares with other callers of its group. */
static _Atomic uint64_t *counter_of(const struct counters_group *group, uint64_t key)
{
    uint64_t owner =
        counters_mix(counters_mix(seed, (uint64_t)group->project), group->anonymous) | 1;
    bool is_new;
    struct slot *slot = find_slot(counters->slots, SLOTS, key, &is_new);

    if (slot && is_new && (!counters_take_quota(owner) || !counters_take_slot(slot, key)))
        slot = NULL;
    if (slot)
        return &slot->count;
    return &counters->coarse[(counters_mix(owner, group->class) + key % COARSE_EACH) & (COARSE - 1)]
                .count;
}

uint32_t counters_add(const struct counters_group *group, uint64_t key, uint32_t amount)
{
    return counters_count(counter_of(group, key ? key : 1), amount);
}

void counters_set_time(const struct counters_group *group, uint64_t key, int64_t until_s)
{
    _Atomic uint64_t *count = counter_of(group, key);

    if (!is_coarse(count))
        atomic_store(count, (uint64_t)until_s * 1000 / WINDOW_MS << 32 | (uint32_t)until_s);
}

int64_t counters_get_time(uint64_t key)
{
    for (uint64_t i = 0; i < PROBES; i++) {
        struct slot *slot = &counters->slots[(key + i) & (SLOTS - 1)];
        if (atomic_load(&slot->key) == key)
            return (uint32_t)atomic_load(&slot->count);
    }
    return 0;
}

uint64_t counters_seed(void)
{
    return seed;
}
