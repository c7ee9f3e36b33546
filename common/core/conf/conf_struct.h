#pragma once
/* Declares struct app_conf: common.def and the program's own config.def (another file when CONF_DEF
 * names one). See conf.h. */
#include "conf/conf.h"

#ifndef CONF_DEF
#define CONF_DEF "config.def"
#endif

/* clang-format off */
struct app_conf {
    struct conf_common common; /* first: conf_load() relies on it */
#include "conf/conf_members.h"
#include CONF_DEF
#include "conf/conf_end.h"
};
/* clang-format on */

extern const struct conf_spec app_conf_spec;
