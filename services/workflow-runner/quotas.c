/* What all jobs of this process share. */
#include "quotas.h"

#include <limits.h>

#include "app.h"

#define WRITES_PART 4   /* of the connections that write, for one entity */
#define CALLS       256 /* as many as common/fetch has under way */
#define CALLS_PART  2
#define LARGE       64
#define LARGE_PART  4

struct shares quotas_writes, quotas_calls, quotas_scripts, quotas_large;

void quotas_init(void)
{
    unsigned writes = (unsigned)runner_conf()->common.db_write_connections / WRITES_PART;

    shares_init(&quotas_writes, UINT_MAX, writes > 0 ? writes : 1);
    shares_init(&quotas_calls, CALLS, CALLS / CALLS_PART);
    shares_init(&quotas_large, LARGE, LARGE / LARGE_PART);
    shares_init(&quotas_scripts, (unsigned)runner_conf()->script_processes, UINT_MAX);
}
