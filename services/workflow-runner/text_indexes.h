#pragma once
/*
 * Indexes of texts in the order of the project's locale. Missing indexes are created, and indexes
 * that are unfinished or in another order are dropped, concurrently with requests and one at a
 * time. Writers do not wait for this. Until an index exists, lists are correct but read more
 * records. A change of the model of the same entity waits, and gives up as it does when it waits
 * for another change.
 */
#include "loop/loop.h"

/* Call before fork: prepares the metrics of this kind of work. */
void text_indexes_prepare(void);
/* loop: Starts polling projects. */
void text_indexes_start(void);
/* any: Stops polling projects. */
void text_indexes_stop_polling(void);
/* any: Begins nothing new and cancels the passes under way. The server finishes a statement that it
 * has begun. */
void text_indexes_drain(int64_t last_call_mono_ms);
/* loop: Frees the queue. No pass may run at this point. */
void text_indexes_stop(void);
