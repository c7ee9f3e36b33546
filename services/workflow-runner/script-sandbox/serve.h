#pragma once
/* The waiting process: reads requests from fd 0, runs each in a child, and writes the answers to fd
 * 1. */
#include <stdint.h>

/* Serves until fd 0 ends, which ends the process. memory_bytes: what a script may use beyond the
 * memory of the engine. */
void serve_requests(int64_t memory_bytes);
