#pragma once
/* Rows of the lexicon: words by first letter and length, and the commonest of a prefix. */
#include "batch.h"

/* co: settles how common each word of the batch has become and adds the statements for the rows
 * that this changes; fresh words learn their part. */
AWAITS int lexicon_rows_calls(struct task *task, struct db *db, struct index_batch *batch)
    MUSTCHECK;
/* co: weights and words of a page of search_terms as `df` says; words with 0 leave. A word's .delta
 * is not 0 where its weight may have changed. Adds the statements. */
AWAITS int lexicon_rows_tidy(struct task *task, struct db *db, struct index_batch *batch) MUSTCHECK;
/* co: the rows of all prefixes with more than 64 words anew. */
AWAITS int lexicon_rows_prefixes(struct task *task, struct index *index) MUSTCHECK;
