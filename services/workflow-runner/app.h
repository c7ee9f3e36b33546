#pragma once
/*
 * What the runner's files share. Jobs and events are kinds of work of common/product/queue
 * (work.c): events become jobs (events.c), jobs are claimed fairly over the projects, and run each
 * in a coroutine (run.c, steps/), with its bookkeeping written together with that of other jobs
 * (ledger.c). Timed workflows are looked for once a second (schedule.c).
 */
#include "app/daemon.h"
#include "project/project.h"

/* clang-format off: declares struct app_conf from config.def */
#include "conf/conf_struct.h"
/* clang-format on */

/* The configuration of this process. */
const struct app_conf *runner_conf(void);
struct directory *runner_directory(void);
struct bus *runner_bus(void);
/* Name of this process in jobs.runner and platform.runners, unique: host, process, start. */
struct str runner_id(void);
