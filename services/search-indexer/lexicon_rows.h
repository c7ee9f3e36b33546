#pragma once
/* Keeps the rows of the lexicon (search/lexicon.h), which queries read for typos and prefixes: all
 * words by first letter and length, and the most common words of each prefix. */
#include "batch.h"

/* co: Sets the new df of each word of the batch and adds the statements for the rows that this
 * changes. New words learn their part. */
AWAITS int lexicon_rows_calls(struct task *task, struct db *db, struct index_batch *batch)
    MUSTCHECK;
/* co: Adds the statements that bring the rows in line with `df` of a page of search_terms: weights
 * change, words with 0 are removed. Only words whose .delta is not 0 are considered. */
AWAITS int lexicon_rows_tidy(struct task *task, struct db *db, struct index_batch *batch) MUSTCHECK;
/* co: Makes the rows of all prefixes that have more than LEXICON_PREFIXES words again, in one
 * transaction. */
AWAITS int lexicon_rows_prefixes(struct task *task, struct index *index) MUSTCHECK;
