#pragma once
/* A call of records/ as those who use it make it: again, when the model it went by was old. */
#include "records/records.h"

#define AGAIN(ctx, entity, rc, call)                                                               \
    do                                                                                             \
        (rc) = (call);                                                                             \
    while (records_again((ctx), &(entity), &(rc)))
