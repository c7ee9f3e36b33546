/* PNG (W3C PNG 3), JPEG (ITU T.81 annex B), GIF89a, WebP (its container specification). */
#include <string.h>

#include "media/probe_private.h"

#define CHUNKS_MAX   1000 /* before the image data */
#define SEGMENTS_MAX 1000

/* --- PNG --- */

void probe_png(struct media_source *source, struct media_facts *facts)
{
    const uint8_t *head = source_at(source, 8, 16);
    int64_t at = 8;

    if (!head || memcmp(head + 4, "IHDR", 4) != 0)
        return;
    facts_size(facts, be32(head + 8), be32(head + 12));
    for (int i = 0; i < CHUNKS_MAX; i++) {
        head = source_at(source, at, 8);
        if (!head || memcmp(head + 4, "IDAT", 4) == 0 || memcmp(head + 4, "IEND", 4) == 0)
            return;
        int64_t bytes = be32(head);
        if (memcmp(head + 4, "eXIf", 4) == 0) {
            facts->orientation = exif_orientation(source, at + 8, at + 8 + bytes);
            return;
        }
        at += 12 + bytes;
    }
}

/* --- JPEG --- */

static bool is_frame(uint8_t marker)
{
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

static bool is_standalone(uint8_t marker)
{
    return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7);
}

/* Returns the next marker, which any number of 0xFF may precede; 0 when there is none. */
static uint8_t next_marker(struct media_source *source, int64_t *at)
{
    const uint8_t *bytes;

    for (;;) {
        bytes = source_at(source, *at, 2);
        if (!bytes || bytes[0] != 0xFF)
            return 0;
        if (bytes[1] != 0xFF)
            break;
        (*at)++;
    }
    *at += 2;
    return bytes[1];
}

static void jpeg_exif(struct media_source *source, struct media_facts *facts, int64_t at, int bytes)
{
    const uint8_t *name = bytes > 8 ? source_at(source, at, 8) : NULL;

    if (name && memcmp(name + 2, "Exif\0\0", 6) == 0)
        facts->orientation = exif_orientation(source, at + 8, at + bytes);
}

void probe_jpeg(struct media_source *source, struct media_facts *facts)
{
    int64_t at = 2;

    for (int i = 0; i < SEGMENTS_MAX; i++) {
        uint8_t marker = next_marker(source, &at);
        if (marker == 0 || marker == 0xD9 || marker == 0xDA)
            return;
        if (is_standalone(marker))
            continue;
        const uint8_t *head = source_at(source, at, is_frame(marker) ? 7 : 2);
        if (!head || be16(head) < 2)
            return;
        int bytes = be16(head);
        if (is_frame(marker)) {
            facts_size(facts, be16(head + 5), be16(head + 3));
            return;
        }
        if (marker == 0xE1 && facts->orientation == 1)
            jpeg_exif(source, facts, at, bytes);
        at += bytes;
    }
}

/* --- GIF --- */

void probe_gif(struct media_source *source, struct media_facts *facts)
{
    const uint8_t *head = source_at(source, 6, 4);

    if (head)
        facts_size(facts, le16(head), le16(head + 2));
}

/* --- WebP --- */

static void webp_size(struct media_source *source, struct media_facts *facts)
{
    const uint8_t *head = source_at(source, 12, 18);

    if (!head)
        return;
    if (memcmp(head, "VP8X", 4) == 0) {
        facts_size(facts, le24(head + 12) + 1, le24(head + 15) + 1);
    } else if (memcmp(head, "VP8L", 4) == 0 && head[8] == 0x2F) {
        uint32_t bits = le32(head + 9);
        facts_size(facts, (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1);
    } else if (memcmp(head, "VP8 ", 4) == 0 && memcmp(head + 11, "\x9D\x01\x2A", 3) == 0) {
        facts_size(facts, le16(head + 14) & 0x3FFF, le16(head + 16) & 0x3FFF);
    }
}

void probe_webp(struct media_source *source, struct media_facts *facts)
{
    int64_t at = 12;

    webp_size(source, facts);
    for (int i = 0; i < CHUNKS_MAX; i++) {
        const uint8_t *head = source_at(source, at, 8);
        if (!head)
            return;
        int64_t bytes = le32(head + 4);
        if (i == 0 && memcmp(head, "VP8X", 4) != 0)
            return;
        if (memcmp(head, "EXIF", 4) == 0) {
            const uint8_t *name = source_at(source, at + 8, 6);
            int64_t skip = name && memcmp(name, "Exif\0\0", 6) == 0 ? 6 : 0;
            facts->orientation = exif_orientation(source, at + 8 + skip, at + 8 + bytes);
            return;
        }
        at += 8 + bytes + (bytes & 1);
    }
}
