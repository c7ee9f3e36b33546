#pragma once
/*
 * Variants: pictures in other sizes and formats. media-sandbox makes each variant once; its bytes
 * are cached in the store, and its row is found by the file and the requested size and format.
 * Variants are in no total of files and count against no quota. A file has at most VARIANTS_MAX;
 * the newest evicts the oldest. Concurrent requests for a variant wait for the one that makes it.
 * When two processes make the same variant, the first to finish wins.
 *
 * Results: those of media.h and of the store, DB_*. FILES_MISSING: the file was deleted.
 */
#include "files/ledger.h"
#include "files/media.h"
#include "files/rule.h"

#define VARIANTS_MAX 32

struct variant_options {
    struct task *task;
    struct directory *directory;
    struct project *project;
    const struct file_row *file;
    struct media_variant wanted;
    bool is_anonymous; /* the client is anonymous (`strangers` of media_make()) */
};

/* co: Finds the variant, or makes it. *ret has the id and name of the file, and the key, size, type
 * and hash of the variant. Its texts are arena-owned, static, or borrowed from options->file. */
AWAITS int variant_find(const struct variant_options *options, struct file_row *ret) MUSTCHECK;
/* co: Deletes the row of a variant whose bytes are missing from the store, so that the next request
 * makes the variant again. */
AWAITS int variant_row_remove(const struct variant_options *options, const struct file_row *variant)
    MUSTCHECK;
/* any: variant_type() returns the media type of a format ("image/webp"), variant_ending() the
 * ending of its file names ("webp"); NULL for a format that variants do not have. Static. */
const char *variant_type(enum media_kind format);
const char *variant_ending(enum media_kind format);
