/* Boxes of ISO/IEC 14496-12: films and their sound (MP4, M4A, MOV), and pictures of AVIF and HEIC
 * (ISO/IEC 23008-12). */
#include <string.h>

#include "media/probe_private.h"

#define BOXES_MAX      1024 /* boxes that are read of one file */
#define PROPERTIES_MAX 128
#define FIXED_ONE      65536.0

struct box {
    char type[5];
    int64_t from, end; /* of its content */
};

struct box_reader {
    struct media_source *source;
    int boxes; /* boxes read so far */
};

/* Reads the box at *at and moves *at after it. Returns false at the end, when the box is malformed,
 * or when BOXES_MAX boxes have been read. */
static bool next_box(struct box_reader *reader, int64_t *at, int64_t end, struct box *ret)
{
    const uint8_t *head = *at <= end - 8 ? source_at(reader->source, *at, 8) : NULL;
    int64_t head_bytes = 8;

    if (!head || reader->boxes++ >= BOXES_MAX)
        return false;
    uint64_t bytes = be32(head);
    memcpy(ret->type, head + 4, 4);
    ret->type[4] = '\0';
    if (bytes == 1) {
        head = *at <= end - 16 ? source_at(reader->source, *at, 16) : NULL;
        if (!head)
            return false;
        bytes = be64(head + 8);
        head_bytes = 16;
    } else if (bytes == 0) { /* up to the end of the parent */
        bytes = (uint64_t)(end - *at);
    }
    if (bytes < (uint64_t)head_bytes || bytes > (uint64_t)(end - *at))
        return false;
    ret->from = *at + head_bytes;
    ret->end = *at + (int64_t)bytes;
    *at = ret->end;
    return true;
}

/* Finds the first box of a type. */
static bool
find_box(struct box_reader *reader, int64_t at, int64_t end, const char *type, struct box *ret)
{
    while (next_box(reader, &at, end, ret))
        if (strcmp(ret->type, type) == 0)
            return true;
    return false;
}

static const uint8_t *
box_at(struct box_reader *reader, const struct box *box, int64_t offset, size_t bytes)
{
    if (offset > box->end - box->from - (int64_t)bytes)
        return NULL;
    return source_at(reader->source, box->from + offset, bytes);
}

/* --- films --- */

static void
movie_duration(struct box_reader *reader, const struct box *box, struct media_facts *facts)
{
    const uint8_t *head = box_at(reader, box, 0, 20);

    if (!head)
        return;
    if (head[0] != 1) {
        if (be32(head + 16) != UINT32_MAX)
            facts_duration(facts, be32(head + 16), be32(head + 12));
        return;
    }
    head = box_at(reader, box, 0, 32);
    if (head && be64(head + 24) != UINT64_MAX)
        facts_duration(facts, (double)be64(head + 24), be32(head + 20));
}

/* The header of a fragmented film states no duration; its "mehd" box may. */
static void
fragments_duration(struct box_reader *reader, const struct box *box, struct media_facts *facts)
{
    struct box extends;
    struct box head;
    int64_t scale_at = 0;

    if (!find_box(reader, box->from, box->end, "mvex", &extends) ||
        !find_box(reader, extends.from, extends.end, "mehd", &head) ||
        !find_box(reader, box->from, box->end, "mvhd", &extends))
        return;
    const uint8_t *movie = box_at(reader, &extends, 0, 24);
    if (!movie)
        return;
    scale_at = movie[0] == 1 ? 20 : 12;
    uint32_t scale = be32(movie + scale_at);
    const uint8_t *at = box_at(reader, &head, 0, 8);
    bool wide = at && at[0] == 1;
    if (wide)
        at = box_at(reader, &head, 0, 12);
    if (at)
        facts_duration(facts, wide ? (double)be64(at + 4) : be32(at + 4), scale);
}

static void
track_size(struct box_reader *reader, const struct box *track, struct media_facts *facts)
{
    struct box box;

    if (facts->width > 0 || !find_box(reader, track->from, track->end, "tkhd", &box))
        return;
    const uint8_t *version = box_at(reader, &box, 0, 1);
    if (!version)
        return;
    int64_t matrix_at = version[0] == 1 ? 52 : 40;
    const uint8_t *matrix = box_at(reader, &box, matrix_at, 44);
    if (!matrix)
        return;
    bool quarter = be32(matrix) == 0 && be32(matrix + 4) != 0;
    double width = be32(matrix + 36) / FIXED_ONE;
    double height = be32(matrix + 40) / FIXED_ONE;
    facts_size(facts, (uint64_t)(quarter ? height : width), (uint64_t)(quarter ? width : height));
}

static void
probe_movie(struct box_reader *reader, const struct box *movie, struct media_facts *facts)
{
    int64_t at = movie->from;
    struct box box;

    while (next_box(reader, &at, movie->end, &box)) {
        if (strcmp(box.type, "mvhd") == 0)
            movie_duration(reader, &box, facts);
        else if (strcmp(box.type, "trak") == 0)
            track_size(reader, &box, facts);
    }
    if (facts->duration <= 0)
        fragments_duration(reader, movie, facts);
}

/* --- pictures --- */

/* Returns the number of the item that is the picture; 0 when none is stated. */
static uint32_t primary_item(struct box_reader *reader, const struct box *meta)
{
    struct box box;
    const uint8_t *at = NULL;

    if (find_box(reader, meta->from + 4, meta->end, "pitm", &box))
        at = box_at(reader, &box, 0, 6);
    if (!at)
        return 0;
    if (at[0] == 0)
        return be16(at + 4);
    at = box_at(reader, &box, 0, 8);
    return at ? be32(at + 4) : 0;
}

/* Reads `count` property numbers from `at` on. Returns 0 when some of them are missing. */
static size_t property_numbers(struct box_reader *reader,
                               const struct box *box,
                               int64_t at,
                               size_t count,
                               bool wide,
                               uint16_t *ret_numbers)
{
    const uint8_t *bytes = count > 0 ? box_at(reader, box, at, count * (wide ? 2 : 1)) : NULL;

    for (size_t n = 0; bytes && n < count; n++)
        ret_numbers[n] = wide ? be16(bytes + 2 * n) & 0x7FFF : (uint16_t)(bytes[n] & 0x7F);
    return bytes ? count : 0;
}

/* Writes the numbers of the item's properties, which count from 1. Returns how many there are. */
static size_t item_properties(struct box_reader *reader,
                              const struct box *box,
                              uint32_t item,
                              uint16_t *ret_numbers,
                              size_t most)
{
    const uint8_t *at = box_at(reader, box, 0, 8);

    if (!at)
        return 0;
    bool wide_id = at[0] > 0;
    bool wide_number = (at[3] & 1) != 0;
    uint32_t entries = be32(at + 4);
    int64_t offset = 8;
    for (uint32_t i = 0; i < entries && i < BOXES_MAX; i++) {
        size_t id_bytes = wide_id ? 4 : 2;
        at = box_at(reader, box, offset, id_bytes + 1);
        if (!at)
            return 0;
        uint32_t id = wide_id ? be32(at) : be16(at);
        size_t count = at[id_bytes];
        size_t bytes = wide_number ? 2 : 1;
        offset += (int64_t)id_bytes + 1;
        if (id != item) {
            offset += (int64_t)(count * bytes);
            continue;
        }
        return property_numbers(
            reader, box, offset, count < most ? count : most, wide_number, ret_numbers);
    }
    return 0;
}

static bool property_is_among(const uint16_t *numbers, size_t count, unsigned number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* Sets the size to the visible part of a HEIC, in whole pixels. Our AVIF reader does not crop. */
static void
picture_crop(struct box_reader *reader, const struct box *box, struct media_facts *facts)
{
    const uint8_t *cut = facts->kind == MEDIA_HEIC ? box_at(reader, box, 0, 16) : NULL;

    if (cut && be32(cut + 4) > 0 && be32(cut + 12) > 0)
        facts_size(facts, be32(cut) / be32(cut + 4), be32(cut + 8) / be32(cut + 12));
}

static void
probe_picture(struct box_reader *reader, const struct box *meta, struct media_facts *facts)
{
    /* EXIF orientation by number of anticlockwise quarter turns, then by mirroring: none, upside
     * down, left to right. */
    static const uint8_t turns[4][3] = {{1, 4, 2}, {8, 5, 7}, {3, 2, 4}, {6, 7, 5}};
    uint16_t numbers[PROPERTIES_MAX];
    unsigned turned = 0;
    unsigned mirrored = 0;
    uint32_t item = primary_item(reader, meta);
    struct box properties;
    struct box list;
    struct box links;
    struct box box;

    if (!find_box(reader, meta->from + 4, meta->end, "iprp", &properties) ||
        !find_box(reader, properties.from, properties.end, "ipco", &list) ||
        !find_box(reader, properties.from, properties.end, "ipma", &links))
        return;
    size_t count = item_properties(reader, &links, item, numbers, PROPERTIES_MAX);
    int64_t at = list.from;
    for (unsigned number = 1; next_box(reader, &at, list.end, &box); number++) {
        if (!property_is_among(numbers, count, number))
            continue;
        const uint8_t *value = NULL;
        if (strcmp(box.type, "ispe") == 0 && (value = box_at(reader, &box, 4, 8)))
            facts_size(facts, be32(value), be32(value + 4));
        else if (strcmp(box.type, "clap") == 0)
            picture_crop(reader, &box, facts);
        else if (strcmp(box.type, "irot") == 0 && (value = box_at(reader, &box, 0, 1)))
            turned = value[0] & 3;
        else if (strcmp(box.type, "imir") == 0 && (value = box_at(reader, &box, 0, 1)))
            mirrored = 1 + (value[0] & 1);
    }
    facts->orientation = turns[turned][mirrored];
}

void probe_boxes(struct media_source *source, struct media_facts *facts)
{
    struct box_reader reader = {.source = source};
    int64_t at = 0;
    struct box box;

    while (next_box(&reader, &at, source->size, &box)) {
        if (media_is_picture(facts->kind) && strcmp(box.type, "meta") == 0) {
            probe_picture(&reader, &box, facts);
            return;
        }
        if (facts->kind == MEDIA_MP4 && strcmp(box.type, "moov") == 0) {
            probe_movie(&reader, &box, facts);
            return;
        }
    }
}
