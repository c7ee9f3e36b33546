#pragma once
/*
 * What the daemon's files share. Sends are claimed fairly over the projects (work.c,
 * common/product/queue). A send writes a row for each device (spread.c), then asks the providers,
 * both at once and many devices at a time (lane.c), by deliver_fcm.c or deliver_web.c with what
 * providers.c knows of the project's credentials, and ends (send.c).
 */
#include "app/daemon.h"
#include "project/project.h"

/* clang-format off: declares struct app_conf from config.def */
#include "conf/conf_struct.h"
/* clang-format on */

/* The configuration of this process. */
const struct app_conf *dispatcher_conf(void);
struct directory *dispatcher_directory(void);
struct bus *dispatcher_bus(void);
