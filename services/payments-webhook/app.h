#pragma once
/*
 * Declarations that the files of the daemon share. Events are stored as they arrive (receive.c,
 * ingest.c). Due events are claimed fairly across the projects (work.c, common/product/queue), and
 * each is applied in its own transaction (event.c). settle.c asks the processor for the outcome of
 * calls and payments that no event reported.
 */
#include "app/daemon.h"
#include "project/project.h"

/* clang-format off: declares struct app_conf from config.def */
#include "conf/conf_struct.h"
/* clang-format on */

/* any: The configuration of this process, the directory of projects and the message bus. All three
 * live as long as the process. */
const struct app_conf *webhook_conf(void);
struct directory *webhook_directory(void);
struct bus *webhook_bus(void);
