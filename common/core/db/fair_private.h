#pragma once
/*
 * Finds the projects that keep a PostgreSQL server busy. It measures how long the statements of
 * each project have recently run there, and whether this is more than the project's part while
 * other projects have statements too. Each process measures for itself, and allows a project its
 * part of what all processes of the daemon together allow.
 *
 * Use is forgotten bit by bit: a project that always has c statements under way settles at c times
 * FAIR_WINDOW_MS.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

enum {
    FAIR_STEP_MS = 8, /* interval at which a fraction of the use is forgotten */
    FAIR_STEPS = 64,  /* the fraction is 1 / FAIR_STEPS */
    FAIR_WINDOW_MS = FAIR_STEP_MS * FAIR_STEPS,
    FAIR_ACTIVE_MS = 1000, /* a project without a statement for this long does not count */
};

struct map;

struct fair_use {
    uint64_t us;
    int64_t at_ms; /* the use has been reduced up to this time, in whole steps */
};

struct fair {
    struct map *projects; /* schema -> struct project_use of the projects that count */
    struct list recent;   /* these projects, longest without a statement first */
    unsigned count;
    struct fair_use all;
    unsigned at_once;   /* statements that a project above its part may have under way */
    unsigned processes; /* processes of the daemon, each of which measures for itself */
};

/* any: fair_init() wants `at_once` and `processes` above 0; fair_done() frees everything. */
void fair_init(struct fair *fair, unsigned at_once, unsigned processes);
void fair_done(struct fair *fair);
/* any: records that a statement of the project, a heavy read (`heavy`) or any other statement, took
 * `ms` more of the server's time. Schema 0 is the process itself and is not counted. */
void fair_used(struct fair *fair, int64_t schema, bool heavy, int64_t ms, int64_t now_ms);
/* any: true while other projects have statements too and this project's statements keep the server
 * busy for more than one and a half times an equal part. The project may then have `at_once`
 * statements under way. A project that is alone may have everything, and so may a project that uses
 * less time than `at_once` / 2 statements that always run. */
bool fair_is_over(struct fair *fair, int64_t schema, int64_t now_ms);
/* any: for a project that is over its part: true while its heavy reads, or its other statements,
 * have used more time than this process's part of `at_once` statements that always run. False when
 * there is only one process. The longer the statements take, the longer the project rests, so all
 * processes of a daemon together come to `at_once` without any message between them. */
bool fair_is_resting(struct fair *fair, int64_t schema, bool heavy, int64_t now_ms);
