#pragma once
/* Variants of pictures (other sizes and formats) for downloads. */
#include "app.h"
#include "files/rule.h"

/* clang-format off: one macro */
#define VARIANT_QUERY                                                                              \
    {.name = "width",                                                                              \
     .type = FIELD_I64,                                                                            \
     .has_min = true,                                                                              \
     .min = 1,                                                                                     \
     .has_max = true,                                                                              \
     .max = 4096,                                                                                  \
     .doc = "Width of the picture in pixels; without height the picture keeps its proportions. "   \
            "A smaller picture is enlarged to the width, the height or both, unless fit is "       \
            "inside"},                                                                             \
        {.name = "height",                                                                         \
         .type = FIELD_I64,                                                                        \
         .has_min = true,                                                                          \
         .min = 1,                                                                                 \
         .has_max = true,                                                                          \
         .max = 4096,                                                                              \
         .doc =                                                                                    \
             "Height of the picture in pixels; without width the picture keeps its proportions. "  \
             "A smaller picture is enlarged to the width, the height or both, unless fit is "      \
             "inside"},                                                                            \
        {.name = "fit",                                                                            \
         .type = FIELD_STR,                                                                        \
         .values = files_variant_fits,                                                             \
         .fallback = "cover",                                                                      \
         .doc =                                                                                    \
             "How a picture fits the width and the height that are given. cover: fills both and "  \
             "is cropped when its proportions differ; contain: the whole picture, with "           \
             "transparent (in JPEG white) borders; fill: stretched; inside: the whole picture "    \
             "without borders, at most as large as given and never enlarged. With one side "       \
             "given, cover, contain and fill are the same"},                                       \
        {.name = "format",                                                                         \
         .type = FIELD_STR,                                                                        \
         .values = files_variant_formats,                                                          \
         .doc =                                                                                    \
             "When left out: the picture's own format (GIF becomes WebP, HEIC and TIFF become "    \
             "JPEG); auto: WebP for clients that accept it. Animated GIF and WebP stay animated "  \
             "as WebP, and give their first frame in other formats"},                              \
    {                                                                                              \
        .name = "frame", .type = FIELD_STR, .values = files_variant_frames, .fallback = "all",     \
        .doc =                                                                                     \
            "For an animated picture. all: the picture stays animated, up to 2000 frames and 100 " \
            "million pixels of all frames together; first: only the first frame"                   \
    }
/* clang-format on */
extern const char *const files_variant_fits[], *const files_variant_formats[],
                                                   *const files_variant_frames[];

/* co: Finds or makes the variant that the query requests, and replaces *file by the variant's row,
 * whose bytes, type, name and time differ from those of the file. *ret_is_one says whether the
 * query requests a variant at all; if not, *file stays unchanged. `strangers`: the request is
 * anonymous. Returns 0, a negative errno, or the HTTP status of the error that the function has put
 * as the answer. */
AWAITS int
files_variant_find(struct req *r, bool strangers, struct file_row *file, bool *ret_is_one)
    MUSTCHECK;
/* co: The bytes of the variant are missing in the store: deletes its row and puts 503, so that the
 * client tries again. */
AWAITS int files_variant_drop(struct req *r, const struct file_row *variant) MUSTCHECK;
