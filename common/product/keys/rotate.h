#pragma once
/*
 * New keys for all projects. Both rotations may be stopped at any moment and run again. They may
 * run concurrently with daemons and with each other. Progress is passed to say(). Each rotation
 * returns 0, or DATA_KEYS_REMAIN with *ret_reason; then it must be run again.
 */
#include "keys/data_key.h"
#include "servers/servers.h"

/* The servers and master keys of the projects. */
struct rotation_targets {
    struct servers *servers;
    const struct master_keys *masters;
    /* any: Called after the project's epoch was raised, so that other processes load the project
     * again. */
    void (*on_epoch_raised)(void *arg, int64_t number, int64_t epoch);
    void *arg;
};

/* co: Wraps all data keys of all projects with the current master key. Afterwards old master keys
 * are no longer needed. */
AWAITS int keys_rewrap(struct task *task,
                       const struct rotation_targets *owners,
                       void (*say)(const char *text),
                       struct str *ret_reason) MUSTCHECK;
/* co: Gives every project a new data key and seals all its values with it. The old keys are retired
 * when no value is sealed with them. A project whose last rotation did not end gets no further key;
 * that rotation is completed. `settle_ms`: time after which all writers are assumed to use the new
 * key. */
AWAITS int keys_rotate(struct task *task,
                       const struct rotation_targets *owners,
                       int64_t settle_ms,
                       void (*say)(const char *text),
                       struct str *ret_reason) MUSTCHECK;
