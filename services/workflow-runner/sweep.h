#pragma once
/*
 * Without bells: every project that has, or once had, a workflow is looked at every sweep_ms by one
 * of the live runners (faster while Redis is away); jobs of dead runners are put back.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void sweep_start(void);
void sweep_stop(void);
/* any: this runner's share: projects are dealt out over the runners that live. */
bool sweep_mine(int64_t number);
