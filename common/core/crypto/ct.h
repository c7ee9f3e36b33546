#pragma once
/* Comparison of secrets: the time depends on the lengths only, never on the content. Any thread. */
#include <stdbool.h>

#include "base/str.h"

/* Returns whether both texts have the same length and bytes. The lengths may leak. */
bool ct_eq(struct str a, struct str b);
