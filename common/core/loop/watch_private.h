#pragma once
/* Reports of the loop to the watch. */
#include "loop/watch.h"

/* Ends a run of `task`, or a batch of callbacks (NULL); the next run begins. */
void watch_run_end(const struct task *task);
