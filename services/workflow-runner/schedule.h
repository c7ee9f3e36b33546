#pragma once
/*
 * Timed workflows. Once a second the control schema is queried for projects that are due by the
 * database's clock. Each due workflow gets one job per tick, no matter how many runners poll:
 * (workflow, tick) is unique. Ticks that were missed by at most five minutes (TICK_LATE_MS) are
 * made up for. Of older ticks only the last one is handled, and only when no tick came in the last
 * five minutes: it runs once or is skipped, as the trigger's run_late says.
 */
/* loop: Starts polling for ticks, and preparing them (`tick_prefetch.h`). */
void schedule_start(void);
/* loop: Stops polling and preparing. A round that is under way ends before its next project. */
void schedule_stop(void);
