#pragma once
/*
 * Which projects have events that are due, and who gets the next free slot: projects take turns.
 * Events are claimed many at a time: the claim counts the attempt and moves next_attempt_at ahead
 * by lease_ms, so what a process leaves behind when it dies comes back by itself, and an event that
 * takes every process down with it ends as dead. What came back that way is claimed one at a time,
 * beside the others: the next crash has one suspect.
 */
#include "app.h"
#include "base/list.h"

struct work {
    int64_t number;       /* of the project */
    struct list ring;     /* in the ring of projects whose turn comes */
    struct list suspects; /* in the ring of projects with events that came back */
    struct list queue;    /* struct event.link: claimed, wait for a slot */
    unsigned queued;
    unsigned running;
    bool due;          /* there may be due events */
    bool suspects_due; /* there may be events that a process left behind */
    bool claiming;
    bool settling; /* settle.c is at it */
};

void work_start(void);
/* any: nothing new is claimed; what was claimed and has not begun is given back. done(arg) when no
 * event runs any more. */
void work_drain(loop_fn done, void *arg);
void work_stop(void);
bool work_draining(void);

/* any: the project may have due events. */
void work_due(int64_t number);
/* any: the project has events that a process left behind. */
void work_suspects_due(int64_t number);
/* any: an event was stored by this process: applied here, or, when there is no room, wherever the
 * bell is heard. */
void work_received(const struct project *project);
/* any: made when there is none. */
struct work *work_get(int64_t number);

struct work_stats {
    uint64_t claimed, applied, ignored, unsupported, failed, dead, lost;
    unsigned running;
    size_t projects;
};
struct work_stats *work_stats(void);
