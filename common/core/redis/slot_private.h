#pragma once
/* Hash slots of a Redis Cluster (Redis Cluster specification, "Key distribution model"). Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* The slot of a key, 0..16383. Only the text between the first '{' and the next '}' counts, when
 * there is such a text and it is not empty. */
uint16_t slot_of(struct str key);
/* The first key that a command names; false when it has none. */
bool slot_key(size_t argc, const struct str *argv, struct str *ret_key);
