#pragma once
/* Writes the delivery rows of a send, in constant memory: one page of devices after the other, each
 * committed with the position that it has reached. */
#include "send.h"

/* co: Writes rows until all devices have one or the send stops. Returns 0, FAN_OUT_BAD_AUDIENCE, a
 * DB_*, or a negative. */
AWAITS int fan_out_run(struct task *task, struct send *send) MUSTCHECK;
