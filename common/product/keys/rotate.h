#pragma once
/*
 * New keys for all projects. Both rotations may be ended at any moment and be run again, beside
 * daemons at work and beside each other; progress goes to say(). 0, or DATA_KEYS_LEFT with
 * *ret_reason: run again.
 */
#include "keys/data_key.h"
#include "servers/servers.h"

/* Whose keys they are. */
struct key_owners {
    struct servers *servers;
    const struct master_keys *masters;
    /* any: the project's epoch was raised: whoever has loaded it reads it again. */
    void (*changed)(void *arg, int64_t number, int64_t epoch);
    void *arg;
};

/* co: wraps all data keys of all projects with the current master key. Afterwards no old one is
 * needed. */
AWAITS int keys_rewrap(struct task *task,
                       const struct key_owners *owners,
                       void (*say)(const char *text),
                       struct str *ret_reason) MUSTCHECK;
/* co: gives every project a new data key and seals all its values with it; the old ones are retired
 * when nothing is sealed with them. A project whose last rotation did not end gets no further key:
 * that rotation is ended. `settle_ms`: when writers are taken to have learned of the new key. */
AWAITS int keys_rotate(struct task *task,
                       const struct key_owners *owners,
                       int64_t settle_ms,
                       void (*say)(const char *text),
                       struct str *ret_reason) MUSTCHECK;
