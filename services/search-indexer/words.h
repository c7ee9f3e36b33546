#pragma once
/* Rows of words (search_terms): finds them, adds new ones, and keeps their df. */
#include "batch.h"

/* co: Finds the ids of all words of the set. A word that has no row becomes fresh, with an id that
 * is reserved for it. */
AWAITS int words_find(struct task *task, struct index *index, struct index_terms *terms) MUSTCHECK;
/* co: Stores the words of a committed transaction in the word cache (word_cache.h). */
AWAITS void words_store_in_cache(struct task *task, struct index *index, struct index_terms *terms);
/* co: Adds the words that have these ids. Ids may be repeated, or in the set already. */
AWAITS int words_read_ids(struct task *task,
                          struct db *db,
                          const int64_t *ids,
                          size_t count,
                          struct index_terms *terms) MUSTCHECK;
/* any: Adds `delta` to the change of the df of the word with this id, if the set has it. */
void words_add_delta(struct index_terms *terms, int32_t id, int delta);
/* any: The new df. A large df changes in steps and by chance, so that a common word's row is not
 * written with every record; on average the df is right. */
int32_t words_df(const struct word *word);
/* any: Adds the statements for words that are new, or have another df than before. */
void words_calls(struct index_batch *batch);
