#pragma once
/*
 * Limits the devices that are under way. A process has a number of slots for each provider, which
 * the projects share. The sends of a project share the slots of the project, so that a small send
 * does not wait for a large one. The owner that holds the fewest slots always finds a free one,
 * unless very many owners hold slots.
 */
#include "loop/shares.h"
#include "push/request.h"

/* The slots of one project, which its sends share. */
struct window {
    struct shares sends[PUSH_PROVIDERS + 1]; /* by provider */
};

/* The slot of one device, counted for its project and its send. Zeroed: no slot. */
struct window_slot {
    struct share *project_share, *send_share;
};

/* loop: Create and free the slots that all projects share. Once in each process. */
void window_start(void);
void window_stop(void);

/* any: Makes the slots of one project. */
void window_init(struct window *window);
/* any: Frees the slots of one project. All must have been released. */
void window_done(struct window *window);

/* any: Takes a slot for one device. `send` names the project and, as its part, the send. Returns
 * false and zeroes *ret_slot when no slot is free for this send. */
bool window_enter(struct window *window,
                  enum push_provider provider,
                  struct share_owner send,
                  struct window_slot *ret_slot);
/* any: Releases the slot and zeroes *slot. Does nothing when *slot is zeroed. */
void window_leave(struct window *window, enum push_provider provider, struct window_slot *slot);
