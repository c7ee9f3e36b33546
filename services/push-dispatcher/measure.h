#pragma once
/* Numbers of the daemon. */
#include "app.h"

/* Before fork. */
void measure_prepare(void);
void measure(struct app *app);
/* any: how long a send waited for its first claim. */
void measure_waited(int64_t ms);
/* any: a send's last status. */
void measure_ended(struct str status);
