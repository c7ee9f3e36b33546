#pragma once
/* Shared by conf.c (loading) and conf_help.c (describing). */
#include "conf/conf.h"

#define CONF_PREFIX "GROUNDWORK_"

extern const struct conf_item conf_common_items[];
extern const size_t conf_common_count;

/* Returns GROUNDWORK_<NAME>, NUL-terminated, arena-owned. */
const char *conf_variable(struct arena *arena, const struct conf_item *item);
/* Returns whether the program ignores this variable (name in any case, without the prefix). */
bool conf_is_ignored(const struct conf_spec *spec, struct str name);
/* Returns whether the entry is a secret or key: never printed, also read from <VARIABLE>_FILE. */
bool conf_is_secret(const struct conf_item *item);
/* Returns which values an entry allows: "a whole number from 1 to 64"; arena-owned. */
const char *conf_allowed_text(struct arena *arena, const struct conf_item *item);
