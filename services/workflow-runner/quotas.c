/* The sizes of the quotas that all jobs of this process share. */
#include "quotas.h"

#include "app.h"

#define WRITES_PART 4   /* divisor: one entity may use a quarter of the connections */
#define CALLS       256 /* the same limit and rule as for requests in common/core/fetch */
#define CALLS_PART  2   /* divisor: one project may use half of CALLS */
#define LARGE       ((uint64_t)8 << 20)
#define LARGE_PART  2 /* divisor: one project may use half of LARGE */
#define MOMENTS     ((uint64_t)32 << 20)

struct shares quotas_writes, quotas_calls, quotas_mails, quotas_scripts, quotas_large,
    quotas_temporary;

static void
init(struct shares *shares, const char *name, uint64_t limit, uint64_t per_owner, bool leave_room)
{
    const struct shares_config config = {
        .name = name,
        .limit = limit,
        .per_owner = per_owner,
        .waiting = SHARES_ANY,
        .leave_room = leave_room,
    };
    shares_init(shares, &config);
}

void quotas_init(void)
{
    unsigned writes = (unsigned)runner_conf()->common.db_write_connections / WRITES_PART;

    init(&quotas_writes, "step_writes", SHARES_ANY, writes > 0 ? writes : 1, false);
    init(&quotas_calls, "step_calls", CALLS, CALLS / CALLS_PART, true);
    init(&quotas_mails,
         "mails",
         (uint64_t)runner_conf()->mail_slots,
         (uint64_t)runner_conf()->mail_slots_per_project,
         false);
    init(&quotas_large, "large_jobs", LARGE, LARGE / LARGE_PART, true);
    init(&quotas_temporary, "step_bytes", MOMENTS, SHARES_ANY, true);
    init(&quotas_scripts, "scripts", (uint64_t)runner_conf()->script_processes, SHARES_ANY, false);
}
