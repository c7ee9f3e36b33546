/* Elements of Matroska and WebM (RFC 8794, RFC 9559). */
#include <string.h>

#include "media/probe_private.h"

#define ELEMENTS_MAX 2000

enum {
    ID_EBML = 0x1A45DFA3,
    ID_SEGMENT = 0x18538067,
    ID_INFO = 0x1549A966,
    ID_SCALE = 0x2AD7B1,
    ID_DURATION = 0x4489,
    ID_TRACKS = 0x1654AE6B,
    ID_TRACK = 0xAE,
    ID_VIDEO = 0xE0,
    ID_WIDTH = 0xB0,
    ID_HEIGHT = 0xBA,
    ID_CLUSTER = 0x1F43B675,
};

struct element {
    uint32_t id;
    int64_t from, end;
};

struct ebml {
    struct media_source *source;
    int elements;
    double duration, scale;
    uint64_t width, height;
};

static unsigned vint_bytes(uint8_t first)
{
    unsigned bytes = 1;

    while (bytes <= 8 && !(first & (0x100 >> bytes)))
        bytes++;
    return bytes;
}

static bool next_element(struct ebml *ebml, int64_t *at, int64_t end, struct element *ret)
{
    const uint8_t *bytes = *at < end ? source_at(ebml->source, *at, 1) : NULL;

    if (!bytes || ebml->elements++ >= ELEMENTS_MAX)
        return false;
    unsigned len = vint_bytes(bytes[0]);
    if (len > 4 || !(bytes = source_at(ebml->source, *at, len + 1)))
        return false;
    ret->id = 0;
    for (unsigned i = 0; i < len; i++)
        ret->id = ret->id << 8 | bytes[i];
    *at += len;
    len = vint_bytes(bytes[len]);
    if (len > 8 || !(bytes = source_at(ebml->source, *at, len)))
        return false;
    uint64_t size = bytes[0] & ((0x100U >> len) - 1);
    bool unknown = size == (0x100U >> len) - 1;
    for (unsigned i = 1; i < len; i++) {
        size = size << 8 | bytes[i];
        unknown = unknown && bytes[i] == 0xFF;
    }
    *at += len;
    ret->from = *at;
    if (unknown || size > (uint64_t)(end - *at))
        size = *at < end ? (uint64_t)(end - *at) : 0;
    ret->end = ret->from + (int64_t)size;
    *at = ret->end;
    return true;
}

static uint64_t element_uint(struct ebml *ebml, const struct element *element)
{
    int64_t len = element->end - element->from;
    const uint8_t *bytes =
        len > 0 && len <= 8 ? source_at(ebml->source, element->from, (size_t)len) : NULL;
    uint64_t value = 0;

    for (int64_t i = 0; bytes && i < len; i++)
        value = value << 8 | bytes[i];
    return value;
}

static double element_float(struct ebml *ebml, const struct element *element)
{
    int64_t len = element->end - element->from;
    const uint8_t *bytes =
        len == 4 || len == 8 ? source_at(ebml->source, element->from, (size_t)len) : NULL;
    double value = 0;

    if (bytes && len == 8) {
        uint64_t bits = be64(bytes);
        memcpy(&value, &bits, sizeof(value));
    } else if (bytes) {
        uint32_t bits = be32(bytes);
        float half;
        memcpy(&half, &bits, sizeof(half));
        value = (double)half;
    }
    return value;
}

/* Reads all levels below the segment in one loop: each element ID occurs on one level only. */
static void read_level(struct ebml *ebml, int64_t from, int64_t to)
{
    struct {
        int64_t at, end;
    } levels[4] = {{from, to}};
    unsigned depth = 0;
    struct element element;

    for (;;) {
        if (!next_element(ebml, &levels[depth].at, levels[depth].end, &element)) {
            if (depth == 0)
                return;
            depth--;
            continue;
        }
        bool holds = element.id == ID_INFO || element.id == ID_TRACKS || element.id == ID_TRACK ||
                     element.id == ID_VIDEO;
        if (element.id == ID_CLUSTER)
            return;
        if (element.id == ID_SCALE)
            ebml->scale = (double)element_uint(ebml, &element);
        else if (element.id == ID_DURATION)
            ebml->duration = element_float(ebml, &element);
        else if (element.id == ID_WIDTH && ebml->width == 0)
            ebml->width = element_uint(ebml, &element);
        else if (element.id == ID_HEIGHT && ebml->height == 0)
            ebml->height = element_uint(ebml, &element);
        else if (holds && depth < 3) {
            depth++;
            levels[depth].at = element.from;
            levels[depth].end = element.end;
        }
    }
}

void probe_matroska(struct media_source *source, struct media_facts *facts)
{
    struct ebml ebml = {.source = source, .scale = 1e6};
    struct element element;
    int64_t at = 0;

    while (next_element(&ebml, &at, source->size, &element)) {
        if (element.id != ID_SEGMENT)
            continue;
        read_level(&ebml, element.from, element.end);
        break;
    }
    facts_size(facts, ebml.width, ebml.height);
    facts_duration(facts, ebml.duration * ebml.scale, 1e9);
}
