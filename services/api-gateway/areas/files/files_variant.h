#pragma once
/* Pictures in other sizes and formats, where files are downloaded. */
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
     .doc = "Of a picture: pixels; without height in its own proportions"},                        \
        {.name = "height",                                                                         \
         .type = FIELD_I64,                                                                        \
         .has_min = true,                                                                          \
         .min = 1,                                                                                 \
         .has_max = true,                                                                          \
         .max = 4096,                                                                              \
         .doc = "Of a picture: pixels; without width in its own proportions"},                     \
        {.name = "fit",                                                                            \
         .type = FIELD_STR,                                                                        \
         .values = files_variant_fits,                                                             \
         .fallback = "cover",                                                                      \
         .doc = "When both are given. cover: fills them, and what stands out is cut off; "         \
                "contain: all "                                                                    \
                "of it, with transparent (in JPEG white) borders; inside: at most so large, and "  \
                "never "                                                                           \
                "larger than it is; fill: stretched"},                                             \
    {                                                                                              \
        .name = "format", .type = FIELD_STR, .values = files_variant_formats,                      \
        .doc = "As it is, when left out (GIF becomes PNG); auto: WebP for who accepts it"          \
    }
/* clang-format on */
extern const char *const files_variant_fits[], *const files_variant_formats[];

/* co: when the query asks for one, *file becomes its row: with other bytes, type, name and time.
 * Else nothing happens. */
AWAITS int files_variant(struct req *r, bool strangers, struct file_row *file, bool *ret_is_one)
    MUSTCHECK;
/* co: its bytes are not in the store: forgets it, and asks the client to try again. */
AWAITS int files_variant_gone(struct req *r, const struct file_row *variant) MUSTCHECK;
