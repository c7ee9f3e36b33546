#pragma once
/* Runs a call of records/ as its callers do: again, when the model that it used was outdated. */
#include "records/records.h"

#define AGAIN(ctx, entity, rc, call)                                                               \
    do                                                                                             \
        (rc) = (call);                                                                             \
    while (records_should_repeat((ctx), &(entity), &(rc)))
