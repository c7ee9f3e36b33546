#pragma once
/*
 * What is done to all projects at once, by a command of its own beside daemons at work. Progress
 * goes to say(). 0, or a positive with *ret_reason.
 */
#include "project/project.h"

/* co: brings the control schema and every project to this version (migrations/migrate.h). */
AWAITS int migrate_all(struct task *task,
                       struct directory *directory,
                       void (*say)(const char *text),
                       struct str *ret_reason) MUSTCHECK;
/* co: wraps all data keys with the current master key (keys/rotate.h). */
AWAITS int data_keys_rewrap(struct task *task,
                            struct directory *directory,
                            void (*say)(const char *text),
                            struct str *ret_reason) MUSTCHECK;
/* co: gives every project a new data key and seals its values with it (keys/rotate.h). */
AWAITS int data_keys_rotate(struct task *task,
                            struct directory *directory,
                            int64_t settle_ms,
                            void (*say)(const char *text),
                            struct str *ret_reason) MUSTCHECK;
/* A process that has not read the epochs for five seconds serves nothing (project.h); statements
 * under way then have five more. */
#define DATA_KEY_SETTLE_MS 10000
