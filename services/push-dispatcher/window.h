#pragma once
/*
 * How many devices are under way at once. The process has so many of each provider, which projects
 * share; a project's sends share what it has, so that a small one does not wait behind a large one.
 * Who holds least always finds room, unless very many hold some.
 */
#include "loop/shares.h"
#include "push/request.h"

/* What a project's sends share. */
struct window {
    struct shares sends[PUSH_PROVIDERS + 1]; /* by provider */
};

/* Of one device. Zeroed: none. */
struct window_place {
    struct share *of_project, *of_send;
};

/* loop: once a process. */
void window_start(void);
void window_stop(void);

void window_init(struct window *window);
/* any: all places are given back. */
void window_done(struct window *window);

/* any: `send` is the project and the send, as its part. Whether there is room for one more. */
bool window_enter(struct window *window,
                  enum push_provider provider,
                  struct share_owner send,
                  struct window_place *ret_place);
/* any: idempotent. */
void window_leave(struct window *window, enum push_provider provider, struct window_place *place);
