/* TIFF 6.0: size of the picture and the EXIF tag for its orientation. */
#include "media/probe_private.h"

#define TIFF_HEAD_BYTES 8
#define TAG_BYTES       12
#define TAG_ORIENTATION 0x0112
#define TAG_KIND        0x00FE
#define TAG_WIDTH       0x0100
#define TAG_HEIGHT      0x0101
#define KIND_REDUCED    1
#define TYPE_SHORT      3
#define TYPE_LONG       4
#define TAGS_MAX        500

struct tiff {
    struct media_source *source;
    int64_t from, end;
    bool little;
};

/* Returns `bytes` at an offset of the structure, or NULL when they are not inside of it. */
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

/* Position in the tags of the first directory. */
struct tiff_tags {
    struct tiff tiff;
    int64_t at; /* of the next tag */
    uint32_t left;
};

/* Returns false when there is no TIFF structure or it has no directory. */
static bool
tags_begin(struct tiff_tags *tags, struct media_source *source, int64_t from, int64_t end)
{
    struct tiff *tiff = &tags->tiff;

    *tiff = (struct tiff){.source = source, .from = from, .end = end};
    const uint8_t *head = tiff_at(tiff, 0, TIFF_HEAD_BYTES);
    if (!head || head[0] != head[1] || (head[0] != 'I' && head[0] != 'M'))
        return false;
    tiff->little = head[0] == 'I';
    if (tiff_u16(tiff, head + 2) != 42)
        return false;
    int64_t at = tiff_u32(tiff, head + 4);
    const uint8_t *count = tiff_at(tiff, at, 2);
    tags->left = count ? tiff_u16(tiff, count) : 0;
    if (tags->left > TAGS_MAX)
        tags->left = TAGS_MAX;
    tags->at = at + 2;
    return count != NULL;
}

/* Reads the next tag that is one number. Returns false when no tag is left. */
static bool tags_next(struct tiff_tags *tags, unsigned *ret_tag, uint32_t *ret_value)
{
    const struct tiff *tiff = &tags->tiff;

    for (; tags->left > 0; tags->left--) {
        const uint8_t *tag = tiff_at(tiff, tags->at, TAG_BYTES);
        uint32_t type = tag ? tiff_u16(tiff, tag + 2) : 0;
        if (!tag)
            return false;
        tags->at += TAG_BYTES;
        if (type != TYPE_SHORT && type != TYPE_LONG)
            continue;
        tags->left--;
        *ret_tag = tiff_u16(tiff, tag);
        *ret_value = type == TYPE_SHORT ? tiff_u16(tiff, tag + 8) : tiff_u32(tiff, tag + 8);
        return true;
    }
    return false;
}

static unsigned orientation_of(uint32_t value)
{
    return value >= 1 && value <= 8 ? value : 1;
}

unsigned exif_orientation(struct media_source *source, int64_t from, int64_t end)
{
    struct tiff_tags tags;
    uint32_t value;
    unsigned tag;

    if (!tags_begin(&tags, source, from, end))
        return 1;
    while (tags_next(&tags, &tag, &value))
        if (tag == TAG_ORIENTATION)
            return orientation_of(value);
    return 1;
}

/* A camera's raw file may begin with a thumbnail, whose size is not the size of the picture. */
void probe_tiff(struct media_source *source, struct media_facts *facts)
{
    struct tiff_tags tags;
    uint32_t width = 0;
    uint32_t height = 0;
    uint32_t value;
    unsigned tag;

    if (!tags_begin(&tags, source, 0, source->size))
        return;
    while (tags_next(&tags, &tag, &value)) {
        if (tag == TAG_KIND && (value & KIND_REDUCED) != 0)
            return;
        if (tag == TAG_WIDTH)
            width = value;
        else if (tag == TAG_HEIGHT)
            height = value;
        else if (tag == TAG_ORIENTATION)
            facts->orientation = orientation_of(value);
    }
    facts_size(facts, width, height);
}
