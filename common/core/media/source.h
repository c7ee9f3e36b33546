#pragma once
/*
 * Bytes of a file as a parser looks at them: any place of it, through one window that is filled
 * anew when it has to be. Nothing is read that was not asked for, and never all of a large file.
 */
#include <stddef.h>
#include <stdint.h>

#define SOURCE_WINDOW_BYTES 65536U

struct media_source {
    int64_t size; /* of all of it */
    void *arg;
    /* Up to `bytes` from `offset`; how many, 0 or less when there are none. */
    int64_t (*read)(void *arg, int64_t offset, uint8_t *into, size_t bytes);
    int64_t window_at;
    size_t window_bytes;
    uint8_t window[SOURCE_WINDOW_BYTES];
};

/* `bytes` (at most a window) from `offset`, borrowed until the next call; NULL where there are
 * fewer. */
const uint8_t *source_at(struct media_source *source, int64_t offset, size_t bytes);
/* As many as there are of them, up to `bytes`. */
size_t
source_some(struct media_source *source, int64_t offset, size_t bytes, const uint8_t **ret_bytes);

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
