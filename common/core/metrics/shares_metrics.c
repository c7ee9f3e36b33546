/* Shares on /metrics: each worker has a part of the shared memory, with a row for each name. */
#include "metrics/shares_metrics.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/map.h"
#include "base/panic.h"
#include "loop/shares.h"

#define ROWS_MAX       48
#define NAME_MAX_BYTES 40

enum column { HELD, LIMIT, OWNERS, WAITING, REFUSED, COLUMNS };

struct row {
    char name[NAME_MAX_BYTES]; /* written once, before the row is counted */
    uint64_t now[COLUMNS];
};

struct part {
    atomic_size_t count;
    struct row rows[ROWS_MAX];
};

static struct part *parts;
static unsigned part_count;

void shares_metrics_share(unsigned workers)
{
    void *memory = mmap(NULL,
                        sizeof(*parts) * workers,
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1,
                        0);

    MUST(memory != MAP_FAILED);
    parts = memory;
    part_count = workers;
}

static struct row *shares_metrics_find(struct part *part, const char *name)
{
    size_t count = atomic_load_explicit(&part->count, memory_order_acquire);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(part->rows[i].name, name) == 0)
            return &part->rows[i];
    }
    return NULL;
}

/* Returns a name's row in a worker's part, and adds it when missing; NULL = the part is full. */
static struct row *shares_metrics_row_of(struct part *part, const char *name)
{
    struct row *row = shares_metrics_find(part, name);
    size_t count = atomic_load_explicit(&part->count, memory_order_relaxed);

    if (row != NULL || count == ROWS_MAX)
        return row;
    row = &part->rows[count];
    strncpy(row->name, name, sizeof(row->name) - 1);
    atomic_store_explicit(&part->count, count + 1, memory_order_release);
    return row;
}

static void shares_metrics_clear(struct part *part)
{
    size_t count = atomic_load_explicit(&part->count, memory_order_relaxed);

    for (size_t i = 0; i < count; i++)
        memset(part->rows[i].now, 0, sizeof(part->rows[i].now));
}

static void shares_metrics_add(const struct shares *shares, void *arg)
{
    struct row *row = shares_metrics_row_of(arg, shares->config.name);

    if (row == NULL)
        return;
    row->now[HELD] += shares->held;
    row->now[LIMIT] += shares->config.limit == SHARES_ANY ? 0 : shares->config.limit;
    row->now[OWNERS] += map_size(shares->owners);
    row->now[WAITING] += shares->waiting;
    row->now[REFUSED] += shares->refused;
}

void shares_metrics_measure(unsigned worker)
{
    MUST(worker < part_count);
    shares_metrics_clear(&parts[worker]);
    shares_each(shares_metrics_add, &parts[worker]);
}

static uint64_t shares_metrics_total(const char *name, enum column column)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < part_count; i++) {
        const struct row *row = shares_metrics_find(&parts[i], name);
        sum += row != NULL ? row->now[column] : 0;
    }
    return sum;
}

/* Returns whether an earlier part has the name: names are printed where they first appear. */
static bool name_is_printed(unsigned part, const char *name)
{
    for (unsigned i = 0; i < part; i++) {
        if (shares_metrics_find(&parts[i], name) != NULL)
            return true;
    }
    return false;
}

static void print_column(struct strbuf *out, enum column column, const char *metric)
{
    for (unsigned i = 0; i < part_count; i++) {
        size_t count = atomic_load_explicit(&parts[i].count, memory_order_acquire);
        for (size_t k = 0; k < count; k++) {
            const char *name = parts[i].rows[k].name;
            if (!name_is_printed(i, name))
                strbuf_printf(out,
                              "%s{pool=\"%s\"} %llu\n",
                              metric,
                              name,
                              (unsigned long long)shares_metrics_total(name, column));
        }
    }
}

void shares_metrics_print(struct strbuf *out)
{
    static const struct {
        const char *name, *help, *type;
    } columns[COLUMNS] = {
        [HELD] = {"groundwork_shares_held", "Slots or bytes held", "gauge"},
        [LIMIT] = {"groundwork_shares_limit",
                   "Slots or bytes that may be held; 0 = no limit",
                   "gauge"},
        [OWNERS] = {"groundwork_shares_owners", "Owners that hold or wait for a share", "gauge"},
        [WAITING] = {"groundwork_shares_waiting", "Tasks that wait for a share", "gauge"},
        [REFUSED] = {"groundwork_shares_refused_total",
                     "Tasks that were refused a share",
                     "counter"},
    };

    for (size_t i = 0; i < COLUMNS; i++) {
        strbuf_printf(out,
                      "# HELP %s %s\n# TYPE %s %s\n",
                      columns[i].name,
                      columns[i].help,
                      columns[i].name,
                      columns[i].type);
        print_column(out, (enum column)i, columns[i].name);
    }
}
