#pragma once
/*
 * What the daemon's files share. Events are stored as they come (receive.c, ingest.c); rows that
 * are due are claimed fairly over the projects (work.c, common/product/queue) and applied, each in
 * a transaction of its own (event.c); settle.c asks the processor how calls and payments ended that
 * nobody reported.
 */
#include "app/daemon.h"
#include "project/project.h"

/* clang-format off: declares struct app_conf from config.def */
#include "conf/conf_struct.h"
/* clang-format on */

/* The configuration of this process. */
const struct app_conf *webhook_conf(void);
struct directory *webhook_directory(void);
struct bus *webhook_bus(void);
