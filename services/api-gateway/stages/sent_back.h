#pragma once
/*
 * Resources that are sent back as they were read. A GET shows members that the PUT of its path does
 * not take: the id, who made it and when, what is counted. A PUT whose body has such members is
 * taken when each of them is as the caller reads it now, and refused, as any unknown member is,
 * when one differs. Records have the same by rules of their own (records/write/update.c).
 */
#include "app.h"

/* co: handler_run(); a PUT that it refuses with 400 is run once more without the members that its
 * schema does not know and that the GET shows the caller as they were sent. */
AWAITS int sent_back_run(struct req *r);
