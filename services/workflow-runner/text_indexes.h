#pragma once
/*
 * Indexes of texts in the order of the project's locale: those that are missing, unfinished or in
 * another order are made beside requests, one at a time. Writers do not wait for them; until an
 * index is there lists are right and read more records. A change of the model of the same entity
 * waits, and gives up as it does behind other changes.
 */
#include "loop/loop.h"

/* Before fork. */
void text_indexes_prepare(void);
void text_indexes_start(void);
/* any: projects are not looked at any more. */
void text_indexes_stop_looking(void);
/* any: nothing new is begun; what the server has begun it ends by itself. */
void text_indexes_drain(int64_t last_call_mono_ms);
void text_indexes_stop(void);
