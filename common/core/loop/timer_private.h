#pragma once
/* Start and end of the one uv timer that serves all struct loop_timer. */
#include <uv.h>

void timer_open(uv_loop_t *uv);
/* The timer no longer keeps the loop alive, but timers still fire (shutdown). */
void timer_unref(void);
/* Closes the uv timer, forgets running timers and frees the heap. */
void timer_close(void);
