#pragma once
/* What the loop reports to the watch. */
#include "loop/watch.h"

/* A run or a batch of callbacks has ended; the next begins. */
void watch_end(const struct task *task);
