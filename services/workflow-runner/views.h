#pragma once
/*
 * Materialised views (records/view.h): made anew when somebody asks, when their cron is due, or
 * when their sources have changed. Each is claimed under a lease of seconds, renewed meanwhile, and
 * made in one transaction, which ends by asking whether the claim still holds: a runner that dies,
 * or that is late, leaves nothing, and is not said to be at work for longer than that lease.
 */
#include "loop/loop.h"

/* Before fork. */
void views_prepare(void);
void views_start(void);
/* any: projects are not looked at any more. */
void views_stop_looking(void);
/* any: nothing new is begun; done(arg) when nothing is under way. */
void views_drain(int64_t last_call_mono_ms, loop_fn done, void *arg);
void views_stop(void);
