#pragma once
/* Delivery rows of a send: a page of devices after the other, in constant memory, each committed
 * with how far it has come. */
#include "send.h"

/* co: until all rows are there or the send stops. 0, SPREAD_BAD_AUDIENCE, a DB_*, or a negative. */
AWAITS int spread_run(struct task *task, struct send *send) MUSTCHECK;
