/* Cache of chart data. */
#include "areas/dashboards/chart_cache.h"

#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "loop/shares.h"

#define TRUST_MS    1000
#define AGE_MAX_MS  60000
#define COST_FACTOR 20
#define RENEW_MS    5000 /* how long other requests use an expired entry while one computes */

struct chart_cache_entry {
    struct arena *arena; /* holds the entry itself, too */
    struct chart_key key;
    struct series_mark mark;
    struct str data;
    int64_t project;
    int64_t made_ms, compared_ms, lifetime_ms;
    int64_t renewed_by_ms; /* until then a request is computing newer data */
    uint64_t bytes;
    struct share *share; /* of the bytes */
    struct list link;    /* in chart_cache.used */
};

static struct {
    struct map *by_key; /* NULL = not started */
    struct shares bytes;
    struct list used; /* most recently used last */
} chart_cache;

static void chart_cache_start(struct directory *directory UNUSED, const struct app_conf *conf)
{
    uint64_t bytes = conf->charts_cache_bytes;

    chart_cache.by_key = map_new();
    list_init(&chart_cache.used);
    shares_init(&chart_cache.bytes,
                &(struct shares_config){
                    .name = "charts",
                    .limit = bytes,
                    .per_owner = bytes / 2,
                });
}

static struct str chart_cache_key_text(const struct chart_key *key)
{
    return (struct str){(const char *)key->bytes, sizeof(key->bytes)};
}

static void chart_cache_drop(struct chart_cache_entry *entry)
{
    (void)map_remove(chart_cache.by_key, chart_cache_key_text(&entry->key));
    list_remove(&entry->link);
    shares_release(&chart_cache.bytes, entry->share, entry->bytes);
    arena_free(entry->arena);
}

static void chart_cache_stop(void)
{
    if (!chart_cache.by_key)
        return;
    LIST_FOR (it, &chart_cache.used)
        chart_cache_drop(LIST_ITEM(it, struct chart_cache_entry, link));
    map_free(chart_cache.by_key);
    chart_cache.by_key = NULL;
}

const struct area_life chart_cache_life = {.start = chart_cache_start, .stop = chart_cache_stop};

static bool marks_are_equal(const struct series_mark *one, const struct series_mark *other)
{
    return one->since == other->since && one->changes == other->changes;
}

/* Returns whether this request has to compute the data again. When the data were slow to compute
 * (lifetime_ms > TRUST_MS), one request computes and the others use the entry until
 * renewed_by_ms. */
static bool chart_cache_is_due(struct chart_cache_entry *entry, int64_t now)
{
    if (now - entry->made_ms <= entry->lifetime_ms)
        return false;
    if (entry->lifetime_ms > TRUST_MS && now < entry->renewed_by_ms)
        return false;
    entry->renewed_by_ms = now + RENEW_MS;
    return true;
}

struct str chart_cache_find(struct req *r,
                            const struct chart_key *key,
                            const struct series_mark *mark,
                            bool *ret_due)
{
    struct chart_cache_entry *entry = map_get(chart_cache.by_key, chart_cache_key_text(key));
    int64_t now = clock_mono_ms();

    if (!entry)
        return STR_NONE;
    if (mark && !marks_are_equal(mark, &entry->mark)) {
        chart_cache_drop(entry);
        return STR_NONE;
    }
    *ret_due = chart_cache_is_due(entry, now);
    if (*ret_due)
        return STR_NONE;
    if (!mark && now - entry->compared_ms > TRUST_MS)
        return STR_NONE;
    if (mark)
        entry->compared_ms = now;
    list_remove(&entry->link);
    list_append(&chart_cache.used, &entry->link);
    return arena_dup(r->task.arena, entry->data);
}

/* Returns the least recently used entry of a project; `project` 0: of all projects. */
static struct chart_cache_entry *chart_cache_oldest(int64_t project)
{
    LIST_FOR (it, &chart_cache.used) {
        struct chart_cache_entry *entry = LIST_ITEM(it, struct chart_cache_entry, link);
        if (project == 0 || entry->project == project)
            return entry;
    }
    return NULL;
}

/* Acquires a share, dropping old entries if needed; false when `bytes` exceed a project's limit. */
static bool
chart_cache_make_space(struct share_owner owner, uint64_t bytes, struct share **ret_share)
{
    if (bytes > chart_cache.bytes.config.per_owner)
        return false;
    while (shares_try(&chart_cache.bytes, owner, bytes, ret_share) != 0) {
        struct chart_cache_entry *oldest = chart_cache_oldest(owner.project);
        if (!oldest)
            oldest = chart_cache_oldest(0);
        if (!oldest)
            return false;
        chart_cache_drop(oldest);
    }
    return true;
}

void chart_cache_put(struct req *r,
                     const struct chart_key *key,
                     const struct series_mark *mark,
                     struct str data,
                     int64_t cost_ms)
{
    int64_t lasts_ms = cost_ms * COST_FACTOR;
    struct share_owner owner = share_owner_of(&r->task);
    struct chart_cache_entry *entry = map_get(chart_cache.by_key, chart_cache_key_text(key));
    uint64_t bytes = data.len + sizeof(*entry) + sizeof(*key);
    struct share *share = NULL;

    if (entry)
        chart_cache_drop(entry);
    if (!chart_cache_make_space(owner, bytes, &share))
        return;
    struct arena *arena = arena_new(bytes);
    entry = ARENA_NEW(arena, entry);
    *entry = (struct chart_cache_entry){
        .arena = arena,
        .key = *key,
        .mark = *mark,
        .data = arena_dup(arena, data),
        .project = owner.project,
        .made_ms = clock_mono_ms(),
        .compared_ms = clock_mono_ms(),
        .lifetime_ms = lasts_ms < TRUST_MS     ? TRUST_MS
                       : lasts_ms > AGE_MAX_MS ? AGE_MAX_MS
                                               : lasts_ms,
        .bytes = bytes,
        .share = share,
    };
    (void)map_put(chart_cache.by_key, chart_cache_key_text(key), entry);
    list_append(&chart_cache.used, &entry->link);
}
