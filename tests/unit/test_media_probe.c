/* The facts that pictures and recordings contain: each kind of file (the files are also the
 * seeds of the fuzz target), each file cut at every byte, and files with wrong sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "media/probe.h"

#define SEEDS      "tests/fuzz/corpus/fuzz_media_probe/"
#define FILE_BYTES 4096

static uint8_t content[FILE_BYTES];
static size_t content_bytes;
static size_t looks;

static void load(const char *name)
{
    char path[200];

    (void)snprintf(path, sizeof(path), SEEDS "%s", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    content_bytes = fread(content, 1, sizeof(content), file);
    assert_in_range(content_bytes, 1, sizeof(content) - 1);
    (void)fclose(file);
}

static int64_t give(void *arg, int64_t offset, uint8_t *into, size_t bytes)
{
    (void)arg;
    looks++;
    assert_true(offset >= 0);
    if ((uint64_t)offset >= content_bytes)
        return 0;
    size_t rest = content_bytes - (size_t)offset;
    memcpy(into, content + offset, bytes < rest ? bytes : rest);
    return (int64_t)(bytes < rest ? bytes : rest);
}

static struct media_facts probe_of(int64_t size)
{
    static struct media_source source;

    memset(&source, 0, offsetof(struct media_source, window));
    source.size = size;
    source.read = give;
    looks = 0;
    return media_probe(&source);
}

static struct media_facts probe(void)
{
    return probe_of((int64_t)content_bytes);
}

static const struct {
    const char *name;
    enum media_kind kind;
    uint32_t width, height;
    unsigned orientation;
    double duration;
} known[] = {
    {"png", MEDIA_PNG, 17, 11, 1, 0},
    {"png_turned", MEDIA_PNG, 11, 17, 6, 0},
    {"jpeg", MEDIA_JPEG, 17, 11, 1, 0},
    {"jpeg_turned", MEDIA_JPEG, 11, 17, 6, 0},
    {"gif", MEDIA_GIF, 17, 11, 1, 0},
    {"webp", MEDIA_WEBP, 17, 11, 1, 0},
    {"webp_lossless", MEDIA_WEBP, 17, 11, 1, 0},
    {"webp_turned", MEDIA_WEBP, 11, 17, 6, 0},
    {"avif", MEDIA_AVIF, 17, 11, 1, 0},
    {"tiff", MEDIA_TIFF, 17, 11, 1, 0},
    {"tiff_turned", MEDIA_TIFF, 11, 17, 6, 0},
    {"tiff_reduced", MEDIA_TIFF, 0, 0, 1, 0},
    {"heic", MEDIA_HEIC, 18, 10, 1, 0},
    {"heic_cut", MEDIA_HEIC, 17, 11, 1, 0},
    {"heic_turned", MEDIA_HEIC, 10, 18, 6, 0},
    {"mp4", MEDIA_MP4, 640, 360, 1, 12.345},
    {"mp4_quarter", MEDIA_MP4, 360, 640, 1, 12.345},
    {"webm", MEDIA_MATROSKA, 320, 240, 1, 2.5},
    {"vorbis", MEDIA_OGG, 0, 0, 1, 1},
    {"opus", MEDIA_OGG, 0, 0, 1, 3},
    {"wav", MEDIA_WAV, 0, 0, 1, 0.001},
    {"flac", MEDIA_FLAC, 0, 0, 1, 2},
    {"mp3", MEDIA_MP3, 0, 0, 1, 4 * 417 * 8 / 128000.0},
    {"mp3_xing", MEDIA_MP3, 0, 0, 1, 100 * 1152 / 44100.0},
};

TEST(test_each_kind)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        load(known[i].name);
        struct media_facts facts = probe();
        if (facts.kind != known[i].kind || facts.width != known[i].width ||
            facts.height != known[i].height || facts.orientation != known[i].orientation ||
            fabs(facts.duration - known[i].duration) > 0.0001)
            fail_msg("%s: kind %d, %ux%u, orientation %u, %f s",
                     known[i].name,
                     (int)facts.kind,
                     facts.width,
                     facts.height,
                     facts.orientation,
                     facts.duration);
    }
}

/* A cut file has the right facts or none. */
TEST(test_cut_anywhere)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        load(known[i].name);
        for (; content_bytes > 0; content_bytes--) {
            struct media_facts facts = probe();
            assert_true(facts.kind == known[i].kind || facts.kind == MEDIA_UNKNOWN);
            assert_true(facts.width == 0 || facts.width == known[i].width ||
                        facts.width == known[i].height);
        }
    }
}

/* The source is shorter than the size that the caller passes. */
TEST(test_shorter_than_said)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        load(known[i].name);
        (void)probe_of(INT64_MAX);
        assert_in_range(looks, 1, 5000);
    }
}

static void put32(size_t at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        content[at + (size_t)i] = (uint8_t)(value >> (24 - 8 * i));
}

TEST(test_sizes_that_are_none)
{
    static const uint32_t lies[] = {0, 1000001, 0x7FFFFFFF, 0xFFFFFFFF};

    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        load("png");
        put32(16, lies[i]);
        assert_int_equal(probe().width, 0);
        assert_int_equal(probe().height, 0);
    }
}

/* A box whose size is larger than the file, or smaller than its own header. */
TEST(test_boxes_that_lie)
{
    static const uint32_t lies[] = {2, 7, 0x7FFFFFFF, 0xFFFFFFFF};

    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        load("mp4");
        put32(24, lies[i]); /* size of mdat, before the header of the film */
        assert_int_equal(probe().width, 0);
    }
}

/* With thousands of empty boxes, elements or chunks, the probe gives up soon. */
TEST(test_ends_soon)
{
    load("mp4");
    for (content_bytes = 24; content_bytes + 8 <= sizeof(content); content_bytes += 8) {
        put32(content_bytes, 8);
        memcpy(content + content_bytes + 4, "free", 4);
    }
    (void)probe();
    assert_in_range(looks, 1, 10);
    (void)probe_of((int64_t)1 << 40);
    assert_in_range(looks, 1, 5000);
    memset(content, 0xFF, sizeof(content));
    content_bytes = sizeof(content);
    content[1] = 0xD8;
    (void)probe();
    assert_in_range(looks, 1, 5000);
}
