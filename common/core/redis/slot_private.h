#pragma once
/* Hash slots of a Redis Cluster (Redis Cluster specification, "Key distribution model"). Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* 0..16383. Only what stands between the first '{' and the next '}' counts, when that is not empty.
 */
uint16_t slot_of(struct str key);
/* The first key that a command names; false when it has none. */
bool slot_key(size_t argc, const struct str *argv, struct str *ret_key);
