/* Ogg (RFC 3533) with Vorbis, Opus, FLAC, Speex or Theora; WAV; FLAC (RFC 9639); MP3. */
#include <string.h>

#include "media/probe_private.h"

#define CHUNKS_MAX     1000
#define OGG_HEAD_BYTES 27

/* --- Ogg --- */

struct ogg {
    double rate; /* granules a second */
    uint64_t skipped;
};

/* The first packet identifies the codec, and with it the unit of the granules. */
static struct ogg ogg_codec(const uint8_t *at, size_t bytes, struct media_facts *facts)
{
    struct ogg ogg = {0};

    if (bytes >= 16 && memcmp(at, "\x01vorbis", 7) == 0) {
        ogg.rate = le32(at + 12);
    } else if (bytes >= 12 && memcmp(at, "OpusHead", 8) == 0) {
        ogg.rate = 48000;
        ogg.skipped = le16(at + 10);
    } else if (bytes >= 40 && memcmp(at, "Speex   ", 8) == 0) {
        ogg.rate = le32(at + 36);
    } else if (bytes >= 31 && memcmp(at,
                                     "\x7F"
                                     "FLAC",
                                     5) == 0) {
        ogg.rate = be32(at + 27) >> 12;
    } else if (bytes >= 42 && memcmp(at, "\x80theora", 7) == 0) {
        facts_size(facts,
                   (uint32_t)at[14] << 16 | (uint32_t)at[15] << 8 | at[16],
                   (uint32_t)at[17] << 16 | (uint32_t)at[18] << 8 | at[19]);
    }
    return ogg;
}

static uint64_t le64(const uint8_t *at)
{
    return (uint64_t)le32(at + 4) << 32 | le32(at);
}

/* Returns the granule of the stream's last page, which is near the end of the file; 0 = none. */
static uint64_t last_granule(struct media_source *source, uint32_t serial)
{
    int64_t from = source->size > SOURCE_WINDOW_BYTES ? source->size - SOURCE_WINDOW_BYTES : 0;
    const uint8_t *bytes = NULL;
    size_t count = source_read_partial(source, from, SOURCE_WINDOW_BYTES, &bytes);

    for (size_t at = count; at-- > 0;) {
        if (at + OGG_HEAD_BYTES > count || memcmp(bytes + at, "OggS", 4) != 0)
            continue;
        uint64_t granule = le64(bytes + at + 6);
        if (le32(bytes + at + 14) == serial && granule != UINT64_MAX)
            return granule;
    }
    return 0;
}

void probe_ogg(struct media_source *source, struct media_facts *facts)
{
    const uint8_t *page = NULL;
    int64_t at = 0;
    struct ogg ogg = {0};
    uint32_t serial = 0;

    /* Each stream begins with one page. The first stream with sound gives the duration. */
    for (int i = 0; i < 8 && ogg.rate <= 0; i++) {
        size_t count = source_read_partial(source, at, OGG_HEAD_BYTES + 255 + 255, &page);
        if (count < OGG_HEAD_BYTES || memcmp(page, "OggS", 4) != 0 || !(page[5] & 2))
            return;
        size_t head = OGG_HEAD_BYTES + (size_t)page[26];
        if (page[26] == 0 || count < head)
            return;
        serial = le32(page + 14);
        ogg = ogg_codec(page + head, count - head, facts);
        at += (int64_t)head;
        for (unsigned n = 0; n < page[26]; n++)
            at += page[OGG_HEAD_BYTES + n];
    }
    uint64_t granule = ogg.rate > 0 ? last_granule(source, serial) : 0;
    if (granule > ogg.skipped)
        facts_duration(facts, (double)(granule - ogg.skipped), ogg.rate);
}

/* --- WAV --- */

void probe_wav(struct media_source *source, struct media_facts *facts)
{
    int64_t at = 12;
    uint32_t bytes_a_second = 0;

    for (int i = 0; i < CHUNKS_MAX; i++) {
        const uint8_t *head = source_at(source, at, 8);
        if (!head)
            return;
        int64_t bytes = le32(head + 4);
        bool data = memcmp(head, "data", 4) == 0;
        if (memcmp(head, "fmt ", 4) == 0 && (head = source_at(source, at + 8, 16)))
            bytes_a_second = le32(head + 8);
        if (data) { /* a streamed file does not state its length */
            if (bytes == 0 || bytes > source->size - at - 8)
                bytes = source->size - at - 8;
            facts_duration(facts, (double)bytes, bytes_a_second);
            return;
        }
        at += 8 + bytes + (bytes & 1);
    }
}

/* --- FLAC --- */

void probe_flac(struct media_source *source, struct media_facts *facts, int64_t at)
{
    const uint8_t *info = source_at(source, at + 4, 4 + 18);

    if (!info || (info[0] & 0x7F) != 0)
        return;
    info += 4;
    uint32_t rate = be32(info + 10) >> 12;
    uint64_t samples = (uint64_t)(info[13] & 0x0F) << 32 | be32(info + 14);
    facts_duration(facts, (double)samples, rate);
}

/* --- MP3 --- */

struct mp3_frame {
    uint32_t rate, samples, bytes; /* bytes: of the whole frame, with its header */
    uint32_t bits_a_second;
    bool low, mono;
};

static bool frame_read(const uint8_t *at, struct mp3_frame *ret)
{
    static const uint16_t kilobits[2][16] = {
        {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0},
        {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0},
    };
    static const uint32_t rates[3] = {44100, 48000, 32000};
    unsigned version = at[1] >> 3 & 3; /* 3: MPEG-1, 2: MPEG-2, 0: MPEG-2.5 */
    unsigned layer = at[1] >> 1 & 3;   /* 1: III */

    if (at[0] != 0xFF || (at[1] & 0xE0) != 0xE0 || version == 1 || layer != 1 ||
        (at[2] >> 2 & 3) == 3)
        return false;
    ret->low = version != 3;
    ret->mono = (at[3] >> 6 & 3) == 3;
    ret->rate = rates[at[2] >> 2 & 3] >> (version == 3 ? 0 : version == 2 ? 1 : 2);
    ret->bits_a_second = kilobits[ret->low][at[2] >> 4] * 1000U;
    ret->samples = ret->low ? 576 : 1152;
    if (ret->bits_a_second == 0)
        return false;
    ret->bytes = ret->samples / 8 * ret->bits_a_second / ret->rate + (at[2] >> 1 & 1);
    return true;
}

/* Returns the number of frames that the first frame states (Xing, Info or VBRI header), 0 when the
 * first frame states none. A frame with such a header has no sound. */
static uint32_t
stated_frames(struct media_source *source, int64_t at, const struct mp3_frame *frame)
{
    int64_t side = frame->low ? (frame->mono ? 9 : 17) : (frame->mono ? 17 : 32);
    const uint8_t *head = source_at(source, at + 4 + side, 12);

    if (head && (memcmp(head, "Xing", 4) == 0 || memcmp(head, "Info", 4) == 0))
        return be32(head + 4) & 1 ? be32(head + 8) : 0;
    head = source_at(source, at + 4 + 32, 18);
    return head && memcmp(head, "VBRI", 4) == 0 ? be32(head + 14) : 0;
}

/* Requires two frames in a row, or a frame that ends the file: a byte of 0xFF occurs anywhere. */
static bool frame_at(struct media_source *source, int64_t at, struct mp3_frame *ret)
{
    const uint8_t *head = source_at(source, at, 4);
    struct mp3_frame next;

    if (!head || !frame_read(head, ret))
        return false;
    if (at + ret->bytes >= source->size - 4)
        return at + ret->bytes == source->size;
    head = source_at(source, at + ret->bytes, 4);
    return head && frame_read(head, &next) && next.rate == ret->rate && next.low == ret->low;
}

bool probe_mp3(struct media_source *source, struct media_facts *facts, int64_t at)
{
    struct mp3_frame frame;
    int64_t from = at;

    if (at == 0) { /* without a tag, an MP3 file begins with a frame */
        if (!frame_at(source, at, &frame))
            return false;
    } else {
        while (!frame_at(source, from, &frame))
            if (++from - at >= 4096 || from >= source->size)
                return false;
    }
    uint32_t frames = stated_frames(source, from, &frame);
    if (frames > 0) {
        facts_duration(facts, (double)frames * frame.samples, frame.rate);
        return true;
    }
    int64_t bytes = source->size - from;
    const uint8_t *tag = bytes > 128 ? source_at(source, source->size - 128, 3) : NULL;
    if (tag && memcmp(tag, "TAG", 3) == 0)
        bytes -= 128;
    facts_duration(facts, (double)bytes * 8, frame.bits_a_second);
    return true;
}
