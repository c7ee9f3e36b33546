#pragma once
/*
 * PUTs that send a resource back as it was read. A GET shows members that the PUT of its path does
 * not accept: the id, the creator and time of creation, counts. A PUT with such members is accepted
 * when each of them equals what the caller reads now. When one differs, the PUT is refused as with
 * any unknown member. Records follow rules of their own (records/write/update.c).
 */
#include "app.h"

/* co: Runs handler_run(). If it refuses a PUT with 400, runs it once more without those unknown
 * members that the GET shows the caller with the same values. */
AWAITS int echoed_put_run(struct req *r);
