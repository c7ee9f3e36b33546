/* Envelopes as bytes: entries of earlier versions stay readable for ever, and anything else is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "bus/wire_private.h"

static struct arena *arena;

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

static struct str bytes_of(const char *hex)
{
    size_t len = strlen(hex) / 2;
    char *bytes = arena_alloc(arena, len + 1);

    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (char)byte;
    }
    return (struct str){bytes, len};
}

static const char *hex_of(struct str bytes)
{
    char *hex = arena_alloc(arena, 2 * bytes.len + 1);

    hex[0] = '\0';
    for (size_t i = 0; i < bytes.len; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", (unsigned)(uint8_t)bytes.ptr[i]);
    return hex;
}

#define TRACEPARENT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

/* --- recorded entries --- */

/* Entries as the named version wrote them. Never change an entry, only add. */
static const struct {
    const char *hex;
    struct bus_entry is;
} recorded[] = {
    /* 0.2 */
    {"10011a0d6576656e742e70656e64696e672080c8e2e1c133",
     {.project = 1, .kind = STR_INIT("event.pending"), .occurred_ms = 1770000000000}},
    {"0a04653831321081808080808080101a0d6576656e742e70656e64696e672081c8e2e1c1332802323730302d34626"
     "6"
     "39326633353737623334646136613363653932396430653065343733362d303066303637616130626139303262372"
     "d"
     "3031520308ac06",
     {.project = 9007199254740993,
      .kind = STR_INIT("event.pending"),
      .id = STR_INIT("e812"),
      .traceparent = STR_INIT(TRACEPARENT),
      .row_id = 812,
      .depth = 2,
      .occurred_ms = 1770000000001}},
    {"0a036a393010071a0a6a6f622e7175657565642082c8e2e1c1335a02085a",
     {.project = 7,
      .kind = STR_INIT("job.queued"),
      .id = STR_INIT("j90"),
      .row_id = 90,
      .occurred_ms = 1770000000002}},
    {"10071a0b707573682e7175657565642083c8e2e1c13362020805",
     {.project = 7, .kind = STR_INIT("push.queued"), .row_id = 5, .occurred_ms = 1770000000003}},
    {"10071a0e7365617263682e6368616e6765642084c8e2e1c1336a021006",
     {.project = 7, .kind = STR_INIT("search.changed"), .row_id = 6, .occurred_ms = 1770000000004}},
    {"10071a107061796d656e742e72656365697665642085c8e2e1c133720a08ffffffffffffffff7f",
     {.project = 7,
      .kind = STR_INIT("payment.received"),
      .row_id = INT64_MAX,
      .occurred_ms = 1770000000005}},
};

static void check_entry(const struct bus_entry *entry, const struct bus_entry *expected)
{
    assert_int_equal(entry->project, expected->project);
    assert_int_equal(entry->row_id, expected->row_id);
    assert_int_equal(entry->occurred_ms, expected->occurred_ms);
    assert_int_equal(entry->depth, expected->depth);
    assert_true(str_eq(entry->kind, expected->kind));
    assert_true(str_eq(entry->id, expected->id));
    assert_true(str_eq(entry->traceparent, expected->traceparent));
}

TEST_WITH(test_recorded, setup, teardown)
{
    for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
        struct bus_entry entry;
        assert_int_equal(wire_unpack(arena, bytes_of(recorded[i].hex), &entry), 0);
        check_entry(&entry, &recorded[i].is);
    }
}

/* Additions of a later version are skipped: a field, a body, a member of a body. */
TEST_WITH(test_later, setup, teardown)
{
    static const char least[] = "10011a0d6576656e742e70656e64696e672080c8e2e1c133";
    static const char *const more[] = {
        "3801",       /* 7: varint */
        "3a03616263", /* 7: text */
        "3d01020304", /* 7: fixed32 */
        "390102030405060708",
        "a2060431323334", /* 100: an unknown body */
        "520410011801",   /* 10: event with unknown members 2 and 3 */
        "5200",           /* 10: an empty body */
    };
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        struct bus_entry entry;
        struct str hex = arena_printf(arena, "%s%s", least, more[i]);
        assert_int_equal(wire_unpack(arena, bytes_of(hex.ptr), &entry), 0);
        check_entry(&entry, &recorded[0].is);
    }
}

/* --- round trip --- */

TEST_WITH(test_round_trip, setup, teardown)
{
    char long_text[400];
    struct bus_entry entry;
    struct bus_notification notification = {
        .project = INT64_MAX,
        .kind = "job.queued",
        .id = STR("j1"),
        .row_id = 1,
        .depth = UINT32_MAX,
        .traceparent = STR(TRACEPARENT),
    };

    for (int topic = 0; topic < BUS_TOPICS; topic++) {
        struct str bytes = wire_pack(arena, (enum bus_topic)topic, &notification, 123);
        assert_int_equal(wire_unpack(arena, bytes, &entry), 0);
        assert_int_equal(entry.project, INT64_MAX);
        assert_int_equal(entry.row_id, 1);
        assert_int_equal(entry.depth, UINT32_MAX);
        assert_int_equal(entry.occurred_ms, 123);
        assert_true(str_is(entry.traceparent, TRACEPARENT));
    }
    /* A text that no reader would accept is left out, and the notification is still sent. */
    memset(long_text, 'x', sizeof(long_text));
    notification.id = notification.traceparent = (struct str){long_text, sizeof(long_text)};
    assert_int_equal(wire_unpack(arena, wire_pack(arena, BUS_JOB, &notification, 1), &entry), 0);
    assert_int_equal(entry.id.len + entry.traceparent.len, 0);
    assert_string_equal(hex_of(STR("\x01\xff")), "01ff");
}

/* --- hostile --- */

TEST_WITH(test_hostile, setup, teardown)
{
    static const char *const bad[] = {
        "",
        "00",
        "1001",                             /* no kind */
        "1a0161",                           /* no project */
        "10001a0161",                       /* project 0 */
        "10ffffffffffffffffff011a0161",     /* project -1 */
        "10011a00",                         /* empty kind */
        "10011a01ff",                       /* kind is no UTF-8 */
        "10011a0161320280",                 /* cut off */
        "10011a01613202c328",               /* traceparent is no UTF-8 */
        "10011a0a61",                       /* longer than the input */
        "10011a016152ffffffff0f",           /* a body of 4 GB */
        "10011a01615280808080808080808001", /* an endless length */
        "10011a016120ffffffffffffffffff01", /* a negative time */
        "0b0b0b0b",                         /* groups */
        "10011a0161520308ffff",             /* a body that ends inside a field */
        "0f",                               /* a wire type that does not exist */
    };
    struct bus_entry entry;
    char *large = arena_zalloc(arena, 5000);

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (wire_unpack(arena, bytes_of(bad[i]), &entry) != WIRE_BAD)
            fail_msg("taken: %s", bad[i]);
    }
    assert_int_equal(wire_unpack(arena, STR_NONE, &entry), WIRE_BAD);
    assert_int_equal(wire_unpack(arena, (struct str){large, 5000}, &entry), WIRE_BAD);
    /* A kind that is too long, and thousands of unknown fields. */
    memset(large, 'k', 200);
    memcpy(large, "\x10\x01\x1a\x64", 4);
    assert_int_equal(wire_unpack(arena, (struct str){large, 104}, &entry), WIRE_BAD);
    memcpy(large, "\x10\x01\x1a\x01k", 5);
    for (size_t i = 5; i + 1 < 4096; i += 2)
        memcpy(large + i, "\x38\x01", 2);
    assert_in_range(wire_unpack(arena, (struct str){large, 4095}, &entry), 0, WIRE_BAD);

    /* Any way of cutting or changing a valid entry gives an entry or a refusal, nothing else. */
    struct str good = bytes_of(recorded[1].hex);
    for (size_t cut = 0; cut < good.len; cut++) {
        char *copy = arena_alloc(arena, cut + 1);
        memcpy(copy, good.ptr, cut);
        assert_in_range(wire_unpack(arena, (struct str){copy, cut}, &entry), 0, WIRE_BAD);
    }
    for (size_t at = 0; at < good.len; at++) {
        for (unsigned byte = 0; byte < 256; byte += 5) {
            char *copy = arena_alloc(arena, good.len);
            memcpy(copy, good.ptr, good.len);
            copy[at] = (char)byte;
            assert_in_range(wire_unpack(arena, (struct str){copy, good.len}, &entry), 0, WIRE_BAD);
        }
    }
}
