#pragma once
/* Life of the one uv timer behind all struct loop_timer. */
#include <uv.h>

void timer_open(uv_loop_t *uv);
/* Does not keep the loop alive any more; timers still fire (shutdown). */
void timer_unref(void);
/* Closes the uv timer, forgets running timers and frees the heap. */
void timer_close(void);
