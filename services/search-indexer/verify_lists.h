#pragma once
/* Posting lists of a generation against its forward lists, some megabytes a step. */
#include "index.h"
#include "tally.h"

struct verify_lists {
    int64_t idx;
    struct tally *tally;
    enum verify_stage { VERIFY_FORWARDS, VERIFY_LEAVES, VERIFY_REPAIR, VERIFY_LISTS_DONE } stage;
    int64_t after;             /* record */
    int64_t term, field, base; /* leaf; base -1: none yet */
    int64_t last;              /* id of the leaf before */
    struct tally_list *wrong;
    size_t wrong_count;
    struct arena *arena; /* of the ids of lists that are made anew */
    struct verify_made *made;
    int64_t documents; /* that have a forward list */
    size_t differ;
    bool lost;    /* a word has no row */
    bool rebuilt; /* too much is wrong: a generation is asked for */
    bool done;
};

void verify_lists_begin(struct verify_lists *lists);
/* co: one step; lists->done at the end. As batch_run(). */
AWAITS int verify_lists_step(struct task *task, struct index *index, struct verify_lists *lists)
    MUSTCHECK;
void verify_lists_end(struct verify_lists *lists);
