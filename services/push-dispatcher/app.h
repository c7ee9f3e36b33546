#pragma once
/*
 * Declarations that the files of the daemon share. Sends are claimed fairly across the projects
 * (work.c, common/product/queue). A send first writes a row for each device (fan_out.c). Then it
 * sends through both providers concurrently, to many devices at a time (sender.c), with
 * deliver_fcm.c or deliver_web.c and the project's credentials (providers.c). Then it ends
 * (send.c).
 */
#include "app/daemon.h"
#include "project/project.h"

/* clang-format off: declares struct app_conf from config.def */
#include "conf/conf_struct.h"
/* clang-format on */

/* any: The configuration of this process, the directory of projects and the message bus. All three
 * live as long as the process. */
const struct app_conf *dispatcher_conf(void);
struct directory *dispatcher_directory(void);
struct bus *dispatcher_bus(void);
