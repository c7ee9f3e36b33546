#pragma once
/* Defines app_conf_spec: include this in exactly one .c file of a program. Before the include, name
 * the variables that only other programs read: #define CONF_IGNORED "push_*", "search_url". See
 * conf.h. */
#include "conf/conf_struct.h"

#ifndef CONF_IGNORED
#define CONF_IGNORED NULL
#endif

/* clang-format off */
static const struct conf_item app_conf_items[] = {
#define CONF_OWNER struct app_conf
#include "conf/conf_table.h"
#include CONF_DEF
#include "conf/conf_end.h"
#undef CONF_OWNER
};
/* clang-format on */

static const char *const app_conf_others[] = {CONF_IGNORED, NULL};

const struct conf_spec app_conf_spec = {
    .items = app_conf_items,
    .count = ARRAY_LEN(app_conf_items),
    .bytes = sizeof(struct app_conf),
    .ignored = app_conf_others,
};
