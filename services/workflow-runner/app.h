#pragma once
/*
 * Declarations that all files of the runner share. Jobs and events are kinds of work of
 * common/product/queue (work.c). Events become jobs (events.c). Jobs are claimed fairly across
 * projects, and each job runs in a coroutine (run.c, steps/). The results of several jobs are
 * written together (ledger.c). Due timed workflows are polled once a second (schedule.c).
 */
#include "app/daemon.h"
#include "project/project.h"

/* clang-format off: declares struct app_conf from config.def */
#include "conf/conf_struct.h"
/* clang-format on */

/* any: The configuration of this process, the directory of projects and the bus. All three live as
 * long as the process. */
const struct app_conf *runner_conf(void);
struct directory *runner_directory(void);
struct bus *runner_bus(void);
/* any: The unique name of this process in job_leases.runner and platform.runners: host name,
 * process id and random digits. It lives as long as the process. */
struct str runner_id(void);
