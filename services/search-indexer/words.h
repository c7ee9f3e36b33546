#pragma once
/* Rows of words: found, made, counted. */
#include "batch.h"

/* co: ids of all words of the set: those that have none yet are fresh, with an id reserved. */
AWAITS int words_find(struct task *task, struct index *index, struct index_terms *terms) MUSTCHECK;
/* co: the words of a transaction that was committed are not looked up again. */
AWAITS void words_keep(struct task *task, struct index *index, struct index_terms *terms);
/* co: puts in words with these ids, repeated or there already as they may be. */
AWAITS int words_read_ids(struct task *task,
                          struct db *db,
                          const int64_t *ids,
                          size_t count,
                          struct index_terms *terms) MUSTCHECK;
/* any: so many documents more have the word. */
void words_tally(struct index_terms *terms, int32_t id, int delta);
/* any: what df becomes. Large ones change in steps, by lot, so that a common word's row is not
 * written with every document; on average it is right. */
int32_t words_df(const struct word *word);
/* any: adds the statements for words that are fresh, or more or less common than before. */
void words_calls(struct index_batch *batch);
