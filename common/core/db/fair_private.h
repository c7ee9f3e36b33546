#pragma once
/*
 * Who keeps a PostgreSQL server busy: how long the statements of each project have been running
 * there lately, and whether that is more than its part while others have statements too. Measured
 * by each process for itself; each of a daemon gives it its part of what all of them may.
 *
 * What was used is forgotten bit by bit: a project that always has c statements under way stands at
 * c times FAIR_KEPT_MS.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

enum {
    FAIR_STEP_MS = 8, /* each time a part of what was used is forgotten */
    FAIR_STEPS = 64,  /* the part: one of so many */
    FAIR_KEPT_MS = FAIR_STEP_MS * FAIR_STEPS,
    FAIR_ACTIVE_MS = 1000, /* who had no statement for so long does not count */
};

struct map;

struct fair_use {
    uint64_t us;
    int64_t at_ms; /* as of when: whole steps */
};

struct fair {
    struct map *projects; /* schema -> struct project_use: those that count */
    struct list recent;   /* the same, longest without a statement first */
    unsigned count;
    struct fair_use all;
    unsigned at_once;   /* statements of a project above its part */
    unsigned processes; /* that judge like this one, each by what it sees itself */
};

/* any: at_once and processes above 0. */
void fair_init(struct fair *fair, unsigned at_once, unsigned processes);
void fair_done(struct fair *fair);
/* any: a statement of the project, a heavy read or another, ran, or runs, and took another `ms` of
 * the server's time. Schema 0 is the process itself and is not counted. */
void fair_used(struct fair *fair, int64_t schema, bool heavy, int64_t ms, int64_t now_ms);
/* any: others have statements too, and the project's keep the server busy for more than half as
 * long again as if all of them shared it equally: it may have `at_once` under way. Alone it may
 * have everything, and so may who uses less than that anyway. */
bool fair_is_over(struct fair *fair, int64_t schema, int64_t now_ms);
/* any: of one that is over: its heavy reads, or its other statements, have had more than this
 * process's part of `at_once` of them always under way. The longer they take, the longer it rests:
 * of the processes of a daemon it comes to `at_once`, without any message between them. */
bool fair_rests(struct fair *fair, int64_t schema, bool heavy, int64_t now_ms);
