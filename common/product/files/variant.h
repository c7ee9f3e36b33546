#pragma once
/*
 * Pictures in other sizes and formats: made once by media-sandbox, kept in the store, and found by
 * their file and what was asked for. A cache: in no sum and under no quota, VARIANTS_MAX of a file,
 * the oldest make room for the newest. Whoever asks for one that is being made waits for it; two
 * processes that make the same one keep the first.
 *
 * Results: those of media.h and of the store, DB_*; FILES_GONE: the file was deleted meanwhile.
 */
#include "files/ledger.h"
#include "files/media.h"
#include "files/rule.h"

#define VARIANTS_MAX 32

struct variant_ask {
    struct task *task;
    struct directory *directory;
    struct project *project;
    const struct file_row *file;
    struct media_variant wanted;
    bool strangers; /* nobody that the project knows */
};

/* co: its row, with the file's id and name; texts are the arena's or static. */
AWAITS int variant_find(const struct variant_ask *ask, struct file_row *ret) MUSTCHECK;
/* co: its bytes were not there: the next one makes it anew. */
AWAITS int variant_forget(const struct variant_ask *ask, const struct file_row *variant) MUSTCHECK;
/* any: "image/webp", "webp" of a format that variants have; NULL of any other. */
const char *variant_type(enum media_kind format);
const char *variant_ending(enum media_kind format);
