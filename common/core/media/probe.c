/* Recognizes the container by its first bytes. */
#include "media/probe.h"

#include <math.h>
#include <string.h>

#include "media/probe_private.h"

#define ID3_HEAD_BYTES 10
#define SECONDS_MAX    1e9

void facts_size(struct media_facts *facts, uint64_t width, uint64_t height)
{
    if (width == 0 || height == 0 || width > MEDIA_SIDE_MAX || height > MEDIA_SIDE_MAX)
        return;
    facts->width = (uint32_t)width;
    facts->height = (uint32_t)height;
}

void facts_duration(struct media_facts *facts, double units, double units_a_second)
{
    double seconds = units_a_second > 0 ? units / units_a_second : 0;

    if (isfinite(seconds) && seconds > 0 && seconds < SECONDS_MAX)
        facts->duration = seconds;
}

/* Returns MEDIA_MP4 for every brand that is not of a picture. */
static enum media_kind brand_kind(const uint8_t *brand)
{
    static const struct {
        char name[5];
        enum media_kind kind;
    } brands[] = {
        {"avif", MEDIA_AVIF},
        {"avis", MEDIA_AVIF},
        {"heic", MEDIA_HEIC},
        {"heix", MEDIA_HEIC},
        {"heim", MEDIA_HEIC},
        {"heis", MEDIA_HEIC},
    };

    for (size_t i = 0; i < sizeof(brands) / sizeof(brands[0]); i++)
        if (memcmp(brand, brands[i].name, 4) == 0)
            return brands[i].kind;
    return MEDIA_MP4;
}

/* The brands in the file type box distinguish pictures from films. */
static enum media_kind boxes_kind(struct media_source *source, const uint8_t *head)
{
    uint32_t bytes = be32(head);
    enum media_kind kind = brand_kind(head + 8);

    for (uint32_t at = 16; kind == MEDIA_MP4 && at + 4 <= bytes && at < 256; at += 4) {
        const uint8_t *brand = source_at(source, at, 4);
        if (!brand)
            break;
        kind = brand_kind(brand);
    }
    return kind;
}

static enum media_kind container_kind(struct media_source *source)
{
    const uint8_t *head = source_at(source, 0, 12);

    if (!head)
        return MEDIA_UNKNOWN;
    if (memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0)
        return MEDIA_PNG;
    if (memcmp(head, "\xFF\xD8\xFF", 3) == 0)
        return MEDIA_JPEG;
    if (memcmp(head, "GIF87a", 6) == 0 || memcmp(head, "GIF89a", 6) == 0)
        return MEDIA_GIF;
    if (memcmp(head, "II*\0", 4) == 0 || memcmp(head, "MM\0*", 4) == 0)
        return MEDIA_TIFF;
    if (memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WEBP", 4) == 0)
        return MEDIA_WEBP;
    if (memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WAVE", 4) == 0)
        return MEDIA_WAV;
    if (memcmp(head + 4, "ftyp", 4) == 0)
        return boxes_kind(source, head);
    if (memcmp(head + 4, "moov", 4) == 0 || memcmp(head + 4, "wide", 4) == 0 ||
        memcmp(head + 4, "mdat", 4) == 0) /* old files without a file type box */
        return MEDIA_MP4;
    if (be32(head) == 0x1A45DFA3)
        return MEDIA_MATROSKA;
    if (memcmp(head, "OggS", 4) == 0)
        return MEDIA_OGG;
    return MEDIA_UNKNOWN;
}

/* Returns the offset after the ID3 tag that FLAC and MP3 files may begin with. */
static int64_t id3_end(struct media_source *source)
{
    const uint8_t *head = source_at(source, 0, ID3_HEAD_BYTES);

    if (!head || memcmp(head, "ID3", 3) != 0)
        return 0;
    int64_t bytes = (int64_t)(head[6] & 0x7F) << 21 | (head[7] & 0x7F) << 14 |
                    (head[8] & 0x7F) << 7 | (head[9] & 0x7F);
    bool footer = (head[5] & 0x10) != 0;
    return ID3_HEAD_BYTES + bytes + (footer ? ID3_HEAD_BYTES : 0);
}

static void probe_sound(struct media_source *source, struct media_facts *facts)
{
    int64_t at = id3_end(source);
    const uint8_t *head = source_at(source, at, 4);

    if (!head)
        return;
    if (memcmp(head, "fLaC", 4) == 0) {
        facts->kind = MEDIA_FLAC;
        probe_flac(source, facts, at);
    } else if (probe_mp3(source, facts, at)) {
        facts->kind = MEDIA_MP3;
    }
}

/* Reports the size as shown: a quarter turn swaps width and height. */
static void facts_apply_turn(struct media_facts *facts)
{
    uint32_t width = facts->width;

    if (facts->orientation < 5)
        return;
    facts->width = facts->height;
    facts->height = width;
}

struct media_facts media_probe(struct media_source *source)
{
    static void (*const parsers[])(struct media_source * source, struct media_facts * facts) = {
        [MEDIA_UNKNOWN] = probe_sound,
        [MEDIA_PNG] = probe_png,
        [MEDIA_JPEG] = probe_jpeg,
        [MEDIA_GIF] = probe_gif,
        [MEDIA_WEBP] = probe_webp,
        [MEDIA_AVIF] = probe_boxes,
        [MEDIA_TIFF] = probe_tiff,
        [MEDIA_HEIC] = probe_boxes,
        [MEDIA_MP4] = probe_boxes,
        [MEDIA_MATROSKA] = probe_matroska,
        [MEDIA_OGG] = probe_ogg,
        [MEDIA_WAV] = probe_wav,
    };
    struct media_facts facts = {.kind = container_kind(source), .orientation = 1};

    parsers[facts.kind](source, &facts);
    facts_apply_turn(&facts);
    return facts;
}
