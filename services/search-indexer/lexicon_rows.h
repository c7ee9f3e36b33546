#pragma once
/* Keeps the rows of the lexicon (search/lexicon.h), which queries read for typos and prefixes: all
 * words by first letter and length, and the most common words of each prefix. */
#include "batch.h"

/* co: Sets the new df of each word of the batch and adds the statements for the rows that this
 * changes. Sets the `part` of new words. */
AWAITS int lexicon_rows_calls(struct task *task, struct db *db, struct index_batch *batch)
    MUSTCHECK;
/* co: Adds the statements that bring the rows in line with the df of the words of a page of
 * search_terms: weights change, and words with a df of 0 are removed. Only words whose .delta is
 * not 0 are considered. */
AWAITS int lexicon_rows_tidy(struct task *task, struct db *db, struct index_batch *batch) MUSTCHECK;
/* co: In one transaction, makes the rows of all prefixes again that have more than LEXICON_PREFIXES
 * words. */
AWAITS int lexicon_rows_prefixes(struct task *task, struct index *index) MUSTCHECK;
