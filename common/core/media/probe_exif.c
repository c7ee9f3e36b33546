/* The one tag of EXIF that changes what is seen. */
#include "media/probe_private.h"

#define TIFF_HEAD_BYTES 8
#define TAG_BYTES       12
#define TAG_ORIENTATION 0x0112
#define TYPE_SHORT      3
#define TAGS_MAX        500

struct tiff {
    struct media_source *source;
    int64_t from, end;
    bool little;
};

/* `bytes` inside of the structure, or NULL. */
static const uint8_t *tiff_at(const struct tiff *tiff, int64_t offset, size_t bytes)
{
    if (offset < 0 || offset > tiff->end - tiff->from - (int64_t)bytes)
        return NULL;
    return source_at(tiff->source, tiff->from + offset, bytes);
}

static uint32_t tiff_u16(const struct tiff *tiff, const uint8_t *at)
{
    return tiff->little ? le16(at) : be16(at);
}

static uint32_t tiff_u32(const struct tiff *tiff, const uint8_t *at)
{
    return tiff->little ? le32(at) : be32(at);
}

unsigned exif_orientation(struct media_source *source, int64_t from, int64_t end)
{
    struct tiff tiff = {.source = source, .from = from, .end = end};
    const uint8_t *head = tiff_at(&tiff, 0, TIFF_HEAD_BYTES);

    if (!head || head[0] != head[1] || (head[0] != 'I' && head[0] != 'M'))
        return 1;
    tiff.little = head[0] == 'I';
    if (tiff_u16(&tiff, head + 2) != 42)
        return 1;
    int64_t at = tiff_u32(&tiff, head + 4);
    const uint8_t *count = tiff_at(&tiff, at, 2);
    uint32_t tags = count ? tiff_u16(&tiff, count) : 0;
    for (uint32_t i = 0; i < tags && i < TAGS_MAX; i++) {
        const uint8_t *tag = tiff_at(&tiff, at + 2 + (int64_t)i * TAG_BYTES, TAG_BYTES);
        if (!tag)
            return 1;
        if (tiff_u16(&tiff, tag) != TAG_ORIENTATION || tiff_u16(&tiff, tag + 2) != TYPE_SHORT)
            continue;
        uint32_t value = tiff_u16(&tiff, tag + 8);
        return value >= 1 && value <= 8 ? value : 1;
    }
    return 1;
}
