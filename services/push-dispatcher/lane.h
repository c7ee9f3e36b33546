#pragma once
/*
 * The devices of one send that one provider has: a page of rows at a time, up to so many requests
 * in flight, results recorded some at a time. What is in flight and what is not yet recorded are
 * together never more than the window: that is what a kill can repeat.
 */
#include "send.h"

/* co: until no row is pending or the send stops. 0, a DB_*, or a negative. */
AWAITS int lane_run(struct task *task, struct send *send, enum push_provider provider) MUSTCHECK;
/* co: what is pending fails with the code. 0, a DB_*, or a negative. */
AWAITS int
lane_fail(struct task *task, struct send *send, enum push_provider provider, struct str code)
    MUSTCHECK;
