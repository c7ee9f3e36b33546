#pragma once
/* Shared by conf.c (loading) and conf_help.c (describing). */
#include "conf/conf.h"

#define CONF_PREFIX "GROUNDWORK_"

extern const struct conf_item conf_common_items[];
extern const size_t conf_common_count;

/* GROUNDWORK_<NAME>, NUL-terminated, arena-owned. */
const char *conf_variable(struct arena *arena, const struct conf_item *item);
/* Whether the program ignores the variable of this name (in any case, without the prefix). */
bool conf_is_other(const struct conf_spec *spec, struct str name);
/* Secrets and keys: never printed, and read from <VARIABLE>_FILE as well. */
bool conf_is_secret(const struct conf_item *item);
/* "a whole number from 1 to 64"; arena-owned. */
const char *conf_allowed(struct arena *arena, const struct conf_item *item);
