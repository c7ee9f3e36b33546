#pragma once
/* Compares the posting lists of a generation with its forward lists, some megabytes per step, and
 * repairs lists that differ. */
#include "index.h"
#include "list_sums.h"

struct verify_lists {
    int64_t idx;
    struct list_sums *sums;
    enum verify_stage { VERIFY_FORWARDS, VERIFY_LEAVES, VERIFY_REPAIR, VERIFY_LISTS_DONE } stage;
    int64_t after;             /* last record that was read */
    int64_t term, field, base; /* key of the last leaf; base -1: none yet */
    int64_t last;              /* highest id of the previous leaf */
    struct list_sums_key *bad_lists;
    size_t bad_count;
    struct arena *arena; /* of `bad_lists`, and of the ids of lists that are made again */
    struct verify_repaired_list *repaired;
    int64_t documents; /* records that have a forward list */
    size_t differ;
    bool has_missing_words; /* a word that has postings has no row */
    bool needs_rebuild;     /* too much differs: another generation was requested */
    bool done;
};

/* verify_lists_begin() prepares the comparison of the generation lists->idx; the caller has zeroed
 * the other members. verify_lists_end() frees their memory. */
void verify_lists_begin(struct verify_lists *lists);
/* co: Does one step; lists->done at the end. Results as batch_run(). */
AWAITS int verify_lists_step(struct task *task, struct index *index, struct verify_lists *lists)
    MUSTCHECK;
void verify_lists_end(struct verify_lists *lists);
