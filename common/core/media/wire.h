#pragma once
/*
 * Protocol between a daemon and its media-sandbox over one connection. The daemon sends one
 * request. The sandbox then asks for bytes of the file any number of times, until it answers. Both
 * run the same build on one machine, so structures are sent as they lie in memory. The daemon does
 * not trust the sandbox.
 */
#include <stdint.h>

#include "media/probe.h"

#define MEDIA_SIDE_LIMIT    4096U        /* width and height of a variant */
#define MEDIA_PIXELS_LIMIT  100000000ULL /* pixels of a variant's source, all frames together */
#define MEDIA_FRAMES_LIMIT  2000U        /* frames of an animation */
#define MEDIA_INPUT_LIMIT   (64LL << 20) /* bytes of a variant's source */
#define MEDIA_CHUNK_BYTES   65536U       /* largest chunk, in both directions */
#define MEDIA_VARIANT_BYTES (64LL << 20) /* bytes of an answer */

enum media_op { MEDIA_OP_PROBE, MEDIA_OP_VARIANT };
enum media_fit { MEDIA_COVER, MEDIA_CONTAIN, MEDIA_INSIDE, MEDIA_FILL };

struct media_request {
    uint32_t op;
    uint32_t format; /* enum media_kind: JPEG, PNG, WEBP, AVIF */
    uint32_t fit;
    /* 0 = follows from the other side and the source's proportions; both 0: unchanged. */
    uint32_t width, height;
    uint32_t is_still; /* use only the first frame of an animation */
    int64_t size;      /* bytes of the file */
};

/* Messages of the sandbox. */
enum media_message_kind {
    MEDIA_MESSAGE_READ,  /* asks for up to `bytes` from `offset`; the answer is the number of bytes
                            (u32, 0 = none), then the bytes */
    MEDIA_MESSAGE_CHUNK, /* the next `bytes` of the variant follow */
    MEDIA_MESSAGE_DONE,  /* struct media_facts of the file or of the variant follows */
    MEDIA_MESSAGE_FAIL,  /* `bytes` is one of enum media_failure */
};

struct media_message {
    uint32_t kind;
    uint32_t bytes;
    int64_t offset;
};

enum media_failure {
    MEDIA_NOT_PICTURE, /* none of the supported formats */
    MEDIA_MALFORMED,   /* ends early or contradicts itself */
    MEDIA_TOO_LARGE,   /* exceeds the limit of pixels, bytes or memory */
    MEDIA_TOO_SLOW,    /* exceeds the limit of time */
};
