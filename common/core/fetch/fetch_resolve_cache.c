/* A cache of resolved names, for a few seconds. */
#include <string.h>

#include "base/str.h"
#include "fetch/fetch_resolve_private.h"

/* Each project uses one row of slots, shared with few other projects, and evicts only names
 * there. */
enum { ROWS = 64, ROW_SLOTS = 8 };

struct cached_name {
    int64_t project, until_ms; /* until_ms: mono, 0 = empty */
    struct fetch_addresses addresses;
    char host[FETCH_HOST_BYTES];
};

static struct cached_name rows[ROWS][ROW_SLOTS];

static struct cached_name *row_of(int64_t project)
{
    return rows[(uint64_t)project % ROWS];
}

bool fetch_resolve_cache_get(int64_t project,
                             const char *host,
                             int64_t now_ms,
                             struct fetch_addresses *ret_addresses)
{
    const struct cached_name *row = row_of(project);

    for (size_t i = 0; i < ROW_SLOTS; i++) {
        if (row[i].until_ms > now_ms && row[i].project == project &&
            strcmp(row[i].host, host) == 0) {
            *ret_addresses = row[i].addresses;
            return true;
        }
    }
    return false;
}

void fetch_resolve_cache_put(int64_t project,
                             const char *host,
                             int64_t now_ms,
                             const struct fetch_addresses *addresses)
{
    struct cached_name *row = row_of(project);
    /* Take the slot of the same name, else the slot that expires first. */
    struct cached_name *entry = row;

    for (size_t i = 0; i < ROW_SLOTS; i++) {
        bool same = row[i].project == project && strcmp(row[i].host, host) == 0;
        if (same || row[i].until_ms < entry->until_ms)
            entry = &row[i];
        if (same)
            break;
    }
    entry->project = project;
    entry->until_ms = now_ms + FETCH_RESOLVE_CACHE_MS;
    entry->addresses = *addresses;
    memcpy(entry->host, host, strlen(host) + 1);
}

void fetch_resolve_cache_clear(void)
{
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < ROW_SLOTS; k++)
            rows[i][k].until_ms = 0;
    }
}
