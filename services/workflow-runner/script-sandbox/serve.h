#pragma once
/* The waiting process: requests from fd 0, a child for each, answers to fd 1. */
#include <stdint.h>

/* Until fd 0 ends. */
void serve(int64_t memory_bytes);
