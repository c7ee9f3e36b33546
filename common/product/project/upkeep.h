#pragma once
/*
 * Operations on all projects, run by a separate command while daemons work. Each reports its
 * progress to say() and returns 0, or a positive with *ret_reason.
 */
#include "project/project.h"

/* co: migrates the control schema and every project to this version (migrations/migrate.h). */
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
/* Time after which every writer uses the new key. A process that could not read the epochs for five
 * seconds serves nothing (project.h). Its statements under way may last five seconds more. */
#define DATA_KEY_SETTLE_MS 10000
