#pragma once
/*
 * Timed workflows: once a second the control schema says which projects are due (by the database's
 * clock), and each due workflow gets one job per tick, whichever and however many runners look:
 * (workflow, tick) is unique. Ticks missed by up to five minutes are made up for. Of those that are
 * late (TICK_LATE_MS) the last one runs once when none came after it, or is skipped, as run_late of
 * the trigger says; the others are passed over.
 */
void schedule_start(void);
void schedule_stop(void);
