#pragma once
/*
 * Random access to the bytes of a file, for parsers: one window holds a part of the file and is
 * refilled when a parser needs another part. A large file is never read as a whole.
 */
#include <stddef.h>
#include <stdint.h>

#define SOURCE_WINDOW_BYTES 65536U

struct media_source {
    int64_t size; /* bytes of the whole file */
    void *arg;
    /* Reads up to `bytes` from `offset` and returns how many were read; 0 or less when there are
     * none. */
    int64_t (*read)(void *arg, int64_t offset, uint8_t *into, size_t bytes);
    int64_t window_at;
    size_t window_bytes;
    uint8_t window[SOURCE_WINDOW_BYTES];
};

/* Returns `bytes` (at most SOURCE_WINDOW_BYTES) from `offset`, borrowed until the next call. NULL
 * when the file has fewer. */
const uint8_t *source_at(struct media_source *source, int64_t offset, size_t bytes);
/* Like source_at(), but returns how many of the `bytes` exist, and sets *ret_bytes to them. */
size_t source_read_partial(struct media_source *source,
                           int64_t offset,
                           size_t bytes,
                           const uint8_t **ret_bytes);

/* Read integers of 2, 3, 4 or 8 bytes: be* in big-endian, le* in little-endian byte order. */
static inline uint16_t be16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint64_t be64(const uint8_t *at)
{
    return (uint64_t)be32(at) << 32 | be32(at + 4);
}

static inline uint16_t le16(const uint8_t *at)
{
    return (uint16_t)(at[1] << 8 | at[0]);
}

static inline uint32_t le24(const uint8_t *at)
{
    return (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static inline uint32_t le32(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | le24(at);
}
