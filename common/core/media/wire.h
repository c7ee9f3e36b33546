#pragma once
/*
 * What a daemon and its media-sandbox say to each other over one connection: a request; then the
 * sandbox asks for bytes of the file, as often as it likes, until it has answered. Both are of one
 * build on one machine: structures as they lie in memory. The daemon believes nothing of it.
 */
#include <stdint.h>

#include "media/probe.h"

#define MEDIA_SIDE_LIMIT    4096U        /* of a variant */
#define MEDIA_PIXELS_LIMIT  100000000ULL /* of what a variant is made of, all frames together */
#define MEDIA_FRAMES_LIMIT  2000U        /* of a picture that moves */
#define MEDIA_INPUT_LIMIT   (64LL << 20) /* of bytes of it */
#define MEDIA_PIECE_BYTES   65536U       /* at most at once, either way */
#define MEDIA_VARIANT_BYTES (64LL << 20) /* of an answer */

enum media_op { MEDIA_OP_PROBE, MEDIA_OP_VARIANT };
enum media_fit { MEDIA_COVER, MEDIA_CONTAIN, MEDIA_INSIDE, MEDIA_FILL };

struct media_request {
    uint32_t op;
    uint32_t format; /* enum media_kind: JPEG, PNG, WEBP, AVIF */
    uint32_t fit;
    uint32_t width, height; /* 0 = as the other one asks for; both 0: as it is */
    uint32_t is_still;      /* the first frame of a picture that moves */
    int64_t size;           /* of the file */
};

/* From the sandbox. */
enum media_says {
    MEDIA_SAYS_READ,  /* give me up to `bytes` from `offset`: answered by their number (u32) and
                         them; 0 = there are none */
    MEDIA_SAYS_PIECE, /* the next `bytes` of the variant follow */
    MEDIA_SAYS_DONE,  /* struct media_facts follows: of the file, or of the variant */
    MEDIA_SAYS_FAIL,  /* `bytes` is one of enum media_failure */
};

struct media_message {
    uint32_t says;
    uint32_t bytes;
    int64_t offset;
};

enum media_failure {
    MEDIA_NOT_PICTURE, /* none of the formats */
    MEDIA_BROKEN,      /* ends early, contradicts itself */
    MEDIA_TOO_LARGE,   /* more pixels, bytes or memory than it may take */
    MEDIA_TOO_SLOW,    /* more time */
};
