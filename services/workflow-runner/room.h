#pragma once
/*
 * Room in memory for what jobs hold: data of triggers and outputs of steps, as bytes of their text,
 * a share for each project. Who has little needs none. Nobody waits for room while holding some: a
 * job whose steps have brought more than there is room for is given back, and goes on after its
 * history when it has the room for all of it.
 */
#include "run.h"

/* co: before anything is read: waits for room for what the trigger brought and earlier runs have
 * left, then reads a trigger's data that the claim has not. 0, RUN_RELEASING, JOB_LOST,
 * JOB_STORE_DOWN. */
AWAITS int room_wait(struct run *run) MUSTCHECK;
/* any: room for what the steps have brought since. False: there is none now. */
bool room_grow(struct run *run);
/* any: at the end. */
void room_leave(struct run *run);

/* Memory for what a step makes for a moment: the tree of an answer before its text is counted, the
 * message of a mail (quotas_moments). */
struct room_moment {
    struct share *share;
    uint64_t bytes;
};

/* co: waits its turn, holding nothing else of it. 0, ROOM_NONE when it is more than one may have,
 * -ECANCELED, -ETIMEDOUT (the task's deadline). */
AWAITS int room_moment(struct task *task, uint64_t bytes, struct room_moment *ret_moment) MUSTCHECK;
void room_moment_end(struct room_moment *moment);
