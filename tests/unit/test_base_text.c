/* common/core/base: text, numbers, time, randomness, encodings. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit.h"

#include "base/ascii.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/codec.h"
#include "base/email.h"
#include "base/json_scan.h"
#include "base/num.h"
#include "base/panic.h"
#include "base/rand.h"
#include "base/utf8.h"

#define assert_str(s, text) assert_true(str_is((s), (text)))

/* --- str --- */

TEST(str_compares)
{
    assert_true(str_eq(STR_NONE, STR("")));
    assert_true(str_is(STR_NONE, NULL));
    assert_false(str_eq(STR("a"), STR("b")));
    assert_true(str_ieq(STR("Content-TYPE"), STR("content-type")));
    assert_false(str_ieq(STR("a["), STR("a{"))); /* 0x5b and 0x7b differ by the case bit alone */
    assert_false(str_ieq(STR("@"), STR("`")));
    assert_false(str_ieq(STR("\xc3\x84"), STR("\xc3\xa4")));
    assert_true(str_starts(STR("abc"), STR("ab")));
    assert_true(str_starts(STR("abc"), STR_NONE));
    assert_false(str_starts(STR("a"), STR("ab")));
    assert_true(str_ends(STR("abc"), STR("bc")));
    assert_true(str_ends(STR_NONE, STR("")));
    assert_false(str_ends(STR("c"), STR("bc")));
    assert_true(str_cmp(STR("a"), STR("b")) < 0);
    assert_true(str_cmp(STR("ab"), STR("a")) > 0);
    assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
    assert_int_equal(str_cmp(STR_NONE, STR("")), 0);
    assert_true(str_hash(STR("")) == 0xcbf29ce484222325ULL);
    assert_true(str_hash(STR("foobar")) == 0x85944171f73967e8ULL);
}

TEST(str_cuts)
{
    struct str rest = STR("a,,b,");

    assert_str(str_split(&rest, ','), "a");
    assert_str(str_split(&rest, ','), "");
    assert_str(str_split(&rest, ','), "b");
    assert_non_null(rest.ptr);
    assert_str(str_split(&rest, ','), "");
    assert_null(rest.ptr);
    assert_str(str_split(&rest, ','), "");
    assert_str(str_trim(STR(" \t a b\t ")), "a b");
    assert_str(str_trim(STR(" \t ")), "");
    assert_str(str_trim(STR("\nx")), "\nx");
    assert_int_equal(str_trim(STR_NONE).len, 0);
}

/* --- num --- */

TEST(integers_parse_exactly)
{
    static const char *const bad[] = {"",
                                      "-",
                                      "-0",
                                      "00",
                                      "01",
                                      "-01",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "0x1",
                                      "1e3",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999",
                                      "18446744073709551617"};
    static const int64_t good[] = {0, 1, -1, 9, 10, 99, 100, -12345, INT64_MAX, INT64_MIN};
    int64_t value = 77;
    char text[32];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(num_parse_i64(str_from(bad[i]), &value));
    assert_false(num_parse_i64((struct str){"1\0", 2}, &value));
    assert_int_equal(value, 77);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        size_t len = num_print_i64(text, good[i]);
        char expected[32];
        assert_int_equal(len, snprintf(expected, sizeof(expected), "%lld", (long long)good[i]));
        assert_memory_equal(text, expected, len);
        assert_true(num_parse_i64((struct str){text, len}, &value));
        assert_true(value == good[i]);
    }
}

TEST(doubles_parse_json_only)
{
    static const char *const bad[] = {"",    "-",   ".5",   "1.",   "01",  "+1",       "1e",
                                      "1e+", "inf", "nan",  "0x10", "1 ",  "1e999",    "-1e999",
                                      "--1", "1,5", "1.5.", "-.1",  "1_0", "Infinity", "1e1.5"};
    static const char *const good[] = {"0",
                                       "-0",
                                       "1.5",
                                       "-0.001",
                                       "1e3",
                                       "1E-3",
                                       "123456789012345",
                                       "12345678901234567890",
                                       "0.1234567890123456789",
                                       "1.7976931348623157e308",
                                       "5e-324",
                                       "1e-999",
                                       "0.000000000000000000000000000001",
                                       "9007199254740993"};
    double value = 77;
    char many[600];

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(num_parse_f64(str_from(bad[i]), &value));
    memset(many, '1', sizeof(many));
    assert_false(num_parse_f64((struct str){many, 513}, &value));
    assert_true(value == 77);
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(num_parse_f64(str_from(good[i]), &value));
        assert_true(value == strtod(good[i], NULL));
        assert_int_equal(signbit(value) != 0, good[i][0] == '-');
    }
}

static void assert_prints(double value, const char *expected)
{
    char text[33] = "";
    size_t len = num_print_f64(text, value);
    assert_int_equal(len, strlen(expected));
    text[len] = '\0';
    assert_string_equal(text, expected);
}

TEST(doubles_print_shortest)
{
    assert_prints(0.0, "0");
    assert_prints(-0.0, "-0");
    assert_prints(-17.0, "-17");
    assert_prints(0.1, "0.1");
    assert_prints(-0.05, "-0.05");
    assert_prints(12.34, "12.34");
    assert_prints(0.1 + 0.2, "0.30000000000000004");
    assert_prints(1.0 / 3, "0.3333333333333333");
    assert_prints(1e15, "1000000000000000");
    assert_prints(9007199254740992.0, "9007199254740992");
    assert_prints(1e22, "1e+22");
    assert_prints(5e-324, "5e-324");
    assert_prints(1.7976931348623157e308, "1.7976931348623157e+308");
    assert_prints((double)INFINITY, "null");
    assert_prints((double)NAN, "null");
}

TEST(doubles_round_trip)
{
    char text[32];
    double value;
    double back;

    for (int i = 0; i < 20000; i++) {
        uint64_t bits = rand_u64();
        memcpy(&value, &bits, sizeof(value));
        if (i % 2 == 0)
            value = (double)(int64_t)(bits >> 40U) / 1000.0;
        if (!isfinite(value))
            continue;
        size_t len = num_print_f64(text, value);
        assert_in_range(len, 1, 32);
        assert_true(num_parse_f64((struct str){text, len}, &back));
        assert_true(back == value);
    }
}

TEST(numbers_ignore_the_locale)
{
    double value;

    /* This test proves something only where such a locale is installed. */
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        skip();
    assert_prints(0.1 + 0.2, "0.30000000000000004");
    assert_true(num_parse_f64(STR("1.5e0"), &value));
    (void)setlocale(LC_ALL, "C");
}

/* --- clock --- */

static void assert_time(const char *text, const char *utc)
{
    char buf[CLOCK_TEXT_BYTES];
    int64_t ms;
    assert_true(clock_parse(str_from(text), &ms));
    assert_string_equal(clock_format(buf, ms), utc);
}

TEST(times_parse_and_print)
{
    char buf[CLOCK_TEXT_BYTES];
    int64_t ms;

    assert_string_equal(clock_format(buf, 0), "1970-01-01T00:00:00.000Z");
    assert_string_equal(clock_format(buf, -1), "1969-12-31T23:59:59.999Z");
    assert_string_equal(clock_format(buf, INT64_MAX), "9999-12-31T23:59:59.999Z");
    assert_string_equal(clock_format(buf, INT64_MIN), "0000-01-01T00:00:00.000Z");
    assert_time("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z");
    assert_time("2024-02-29t23:59:59.1239z", "2024-02-29T23:59:59.123Z");
    assert_time("2000-02-29T00:00:00.5+00:30", "2000-02-28T23:30:00.500Z");
    assert_time("1969-12-31T23:00:00-01:00", "1970-01-01T00:00:00.000Z");
    assert_time("0000-03-01T00:00:00.000000001-00:00", "0000-03-01T00:00:00.000Z");
    assert_true(clock_parse(STR("2026-01-31T12:00:00Z"), &ms));
    assert_true(ms == INT64_C(1769860800000));
    for (int64_t day = -800000; day < 2900000; day += 97) {
        int64_t back;
        (void)clock_format(buf, day * 86400000 + 1);
        if (day * 86400000 < INT64_C(-62167219200000) || day > 2932896)
            continue;
        assert_true(clock_parse((struct str){buf, 24}, &back));
        assert_true(back == day * 86400000 + 1);
        assert_true(clock_parse_date((struct str){buf, 10}));
    }
}

TEST(times_are_read_as_people_write_them)
{
    static const struct {
        const char *text, *local;
        bool has_offset;
        int offset_minutes;
    } cases[] = {
        {"2026-01-31", "2026-01-31T00:00:00.000Z", false, 0},
        {"2026-01-31 12:30", "2026-01-31T12:30:00.000Z", false, 0},
        {"2026-01-31T12:30:05.25", "2026-01-31T12:30:05.250Z", false, 0},
        {"2026-01-31  12:30z", "2026-01-31T12:30:00.000Z", true, 0},
        {"2026-01-31 12:30 -0130", "2026-01-31T12:30:00.000Z", true, -90},
        {"2026-01-31T12:30+01", "2026-01-31T12:30:00.000Z", true, 60},
        {"2026-01-31T12:30:00+01:00", "2026-01-31T12:30:00.000Z", true, 60},
    };
    static const char *const bad[] = {"",
                                      "2026-01-31T",
                                      "2026-01-31 ",
                                      "2026-01-31Z",
                                      "2026-01-31 12",
                                      "2026-01-31 12:30 ",
                                      "2026-01-31 12:30.5",
                                      "2026-01-31 12:30+010",
                                      "2026-01-31 12:30+01:0",
                                      "2026-01-31 12:30+01:",
                                      "2026-01-31 12:30Z+1",
                                      "2026-01-31\t12:30"};
    struct clock_reading reading;
    char buf[CLOCK_TEXT_BYTES];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(clock_read(str_from(cases[i].text), &reading));
        assert_string_equal(clock_format(buf, reading.local_ms), cases[i].local);
        assert_int_equal(reading.has_offset, cases[i].has_offset);
        assert_int_equal(reading.offset_ms, cases[i].offset_minutes * 60000);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(clock_read(str_from(bad[i]), &reading));
}

TEST(times_are_printed_for_mail_and_http)
{
    char buf[CLOCK_TEXT_BYTES];

    assert_string_equal(clock_format_mail(buf, 0), "Thu, 01 Jan 1970 00:00:00");
    assert_string_equal(clock_format_mail(buf, INT64_C(784111777999)), "Sun, 06 Nov 1994 08:49:37");
    assert_string_equal(clock_format_mail(buf, INT64_C(1709251199000)),
                        "Thu, 29 Feb 2024 23:59:59");
    assert_string_equal(clock_format_mail(buf, INT64_C(253402300799999)),
                        "Fri, 31 Dec 9999 23:59:59");
}

TEST(times_refuse_what_is_not_exact)
{
    static const char *const bad[] = {"",
                                      "2026-01-31",
                                      "2026-01-31 12:00:00Z",
                                      "2026-01-31T12:00:00",
                                      "2026-01-31T12:00Z",
                                      "2026-01-31T24:00:00Z",
                                      "2026-01-31T12:60:00Z",
                                      "2026-06-30T23:59:60Z",
                                      "2026-01-31T12:00:00.Z",
                                      "2026-01-31T12:00:00.1234567890Z",
                                      "2026-01-31T12:00:00,5Z",
                                      "2026-01-31T12:00:00+24:00",
                                      "2026-01-31T12:00:00+0100",
                                      "2026-01-31T12:00:00Z ",
                                      "2023-02-29T12:00:00Z",
                                      "1900-02-29T12:00:00Z",
                                      "2026-13-01T12:00:00Z",
                                      "2026-00-01T12:00:00Z",
                                      "2026-01-00T12:00:00Z",
                                      "2026-04-31T12:00:00Z",
                                      "-026-01-31T12:00:00Z",
                                      "+026-01-31T12:00:00Z"};
    int64_t ms = 5;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(clock_parse(str_from(bad[i]), &ms));
    assert_int_equal(ms, 5);
    assert_false(clock_parse_date(STR("2026-1-31")));
    assert_false(clock_parse_date(STR("2026-02-30")));
    assert_false(clock_parse_date(STR("2026-01-31T")));
    assert_true(clock_mono_ms() <= clock_mono_us() / 1000);
    assert_true(clock_wall_ms() > INT64_C(1700000000000));
}

/* --- rand --- */

TEST(ids_have_their_shape)
{
    char a[27];
    char b[27];
    char buf[3] = "??";

    rand_bytes(buf, 0);
    assert_string_equal(buf, "??");
    assert_true(rand_u64() != rand_u64());
    rand_ulid(a);
    int64_t next = clock_wall_ms() + 2;
    while (clock_wall_ms() < next)
        continue;
    rand_ulid(b);
    assert_int_equal(strlen(a), 26);
    assert_int_equal(strspn(a, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
    assert_int_equal(a[0], '0');
    assert_true(strncmp(a, b, 10) < 0);
}

/* --- codec --- */

TEST(base64_round_trips)
{
    struct arena *arena = arena_new(0);
    char bytes[64];

    assert_str(codec_b64(arena, STR("")), "");
    assert_str(codec_b64(arena, STR("f")), "Zg==");
    assert_str(codec_b64(arena, STR("fo")), "Zm8=");
    assert_str(codec_b64(arena, STR("foo")), "Zm9v");
    assert_str(codec_b64(arena, STR("\xfb\xff")), "+/8=");
    assert_str(codec_b64url(arena, STR("\xfb\xff")), "-_8");
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        struct str back;
        rand_bytes(bytes, len);
        struct str in = {bytes, len};
        assert_true(codec_b64_decode(arena, codec_b64(arena, in), &back));
        assert_true(str_eq(back, in));
        assert_true(codec_b64url_decode(arena, codec_b64url(arena, in), &back));
        assert_true(str_eq(back, in));
        assert_true(codec_hex_decode(arena, codec_hex(arena, in), &back));
        assert_true(str_eq(back, in));
    }
    arena_free(arena);
}

TEST(decoders_refuse_other_spellings)
{
    static const char *const bad_b64[] = {"Zg",
                                          "Zg=",
                                          "Zh==",
                                          "Zm9=",
                                          "Z===",
                                          "====",
                                          "=",
                                          "Zg==Zg==",
                                          "Zm9v\n",
                                          "-_8=",
                                          " Zg=",
                                          "Zm=v",
                                          "A"};
    static const char *const bad_b64url[] = {"Zg==", "Zh", "Zm9", "A", "+/8", "Zg ", "Zm9vA"};
    static const char *const bad_hex[] = {"a", "0g", "AB", " 0", "0x"};
    struct arena *arena = arena_new(0);
    struct str out = STR("untouched");

    for (size_t i = 0; i < ARRAY_LEN(bad_b64); i++)
        assert_false(codec_b64_decode(arena, str_from(bad_b64[i]), &out));
    for (size_t i = 0; i < ARRAY_LEN(bad_b64url); i++)
        assert_false(codec_b64url_decode(arena, str_from(bad_b64url[i]), &out));
    for (size_t i = 0; i < ARRAY_LEN(bad_hex); i++)
        assert_false(codec_hex_decode(arena, str_from(bad_hex[i]), &out));
    assert_str(out, "untouched");
    arena_free(arena);
}

TEST(percent_decodes_once)
{
    static const char *const bad[] = {
        "%", "%4", "%zz", "%4g", "a%00b", "%ff", "%c0%ae", "%ed%a0%80", "\xff", "%%41"};
    struct arena *arena = arena_new(0);
    struct str text = STR("plain");
    struct str out;

    assert_true(codec_percent_decode(arena, text, true, &out));
    assert_ptr_equal(out.ptr, text.ptr);
    assert_true(codec_percent_decode(arena, STR("a%2Fb%2f+c"), false, &out));
    assert_str(out, "a/b/+c");
    assert_true(codec_percent_decode(arena, STR("a+b%2B"), true, &out));
    assert_str(out, "a b+");
    assert_true(codec_percent_decode(arena, STR("%2541"), false, &out));
    assert_str(out, "%41");
    assert_true(codec_percent_decode(arena, STR_NONE, false, &out));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(codec_percent_decode(arena, str_from(bad[i]), true, &out));
    assert_false(codec_percent_decode(arena, (struct str){"a\0b", 3}, false, &out));
    assert_str(codec_percent(arena, STR("a-._~ /\xc3\xa9")), "a-._~%20%2F%C3%A9");
    assert_str(codec_percent_ascii(arena, STR("a /%20\xc3\xa9")), "a /%20%C3%A9");
    arena_free(arena);
}

/* --- utf8 --- */

TEST(utf8_follows_rfc_3629)
{
    static const char *const good[] = {"",
                                       "ascii text of some length",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "1234567\303\251890123456"};
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc3",
                                      "\xc3(",
                                      "\xe0\x9f\xbf",
                                      "\xe2\x82",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf0\x9f\x98",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "12345678901234\xe2\x82"};

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(utf8_valid(str_from(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(utf8_valid(str_from(bad[i])));
    assert_true(utf8_valid((struct str){"a\0b", 3}));
    assert_int_equal(utf8_length(STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")), 4);
}

TEST(utf8_is_cut_between_characters)
{
    struct str text = STR("a\xc3\xa9\xf0\x9f\x98\x80");
    static const size_t lengths[] = {0, 1, 1, 3, 3, 3, 3, 7, 7};

    for (size_t max = 0; max < ARRAY_LEN(lengths); max++)
        assert_int_equal(utf8_cut(text, max).len, lengths[max]);
}

TEST(utf8_goes_without_its_mark)
{
    assert_str(utf8_unmarked(STR("\xef\xbb\xbfx")), "x");
    assert_str(utf8_unmarked(STR("\xef\xbb")), "\xef\xbb");
    assert_str(utf8_unmarked(STR_NONE), "");
}

/* --- ascii --- */

TEST(characters_have_classes_in_every_locale)
{
    for (int c = -128; c < 128; c++) {
        bool digit = c >= '0' && c <= '9';
        bool lower = c >= 'a' && c <= 'z';
        bool upper = c >= 'A' && c <= 'Z';
        char byte = (char)c;
        assert_int_equal(ascii_is(byte, ASCII_DIGIT), digit);
        assert_int_equal(ascii_is(byte, ASCII_LETTER), lower || upper);
        assert_int_equal(ascii_is(byte, ASCII_ALNUM), digit || lower || upper);
        assert_int_equal(ascii_lower(byte), upper ? c + 32 : c);
        assert_int_equal(ascii_upper(byte), lower ? c - 32 : c);
        assert_int_equal(ascii_hex(byte) >= 0, digit || (lower && c <= 'f') || (upper && c <= 'F'));
    }
    assert_int_equal(ascii_hex('b') * 16 + ascii_hex('F'), 0xbf);
    assert_int_equal(ascii_hex('7'), 7);
}

TEST(texts_consist_of_classes)
{
    assert_int_equal(ascii_span(STR("12a"), ASCII_DIGIT), 2);
    assert_int_equal(ascii_span(STR_NONE, ASCII_DIGIT), 0);
    assert_true(ascii_has_only(STR("a-Z_9"), ASCII_ALNUM, "-_"));
    assert_true(ascii_has_only(STR(""), ASCII_DIGIT, ""));
    assert_false(ascii_has_only(STR("a-b"), ASCII_ALNUM, "_"));
    assert_false(ascii_has_only(STR("aB"), ASCII_LOWER, ""));
    assert_false(
        ascii_has_only((struct str){"a\0", 2}, ASCII_ALNUM, "-")); /* strchr() would find it */
    assert_false(ascii_has_only(STR("\xc3\xa9"), ASCII_ALNUM, ""));
}

/* --- json_scan --- */

TEST(json_is_looked_over)
{
    struct str text = STR("{\"a]\\\"\":[1,\"\\\\\"]}\"open\\");
    static const char seen[] = "{\":[1,\"]}\"";
    int depth = 0;
    size_t at = 0;

    for (size_t i = 0; seen[i] != '\0'; i++) {
        int c = json_scan(text, &at);
        assert_int_equal(c, seen[i]);
        depth += json_scan_depth(c);
        if (c == '1')
            assert_int_equal(depth, 2);
    }
    assert_int_equal(depth, 0);
    assert_int_equal(at, text.len);
    assert_int_equal(json_scan(text, &at), -1);
}

/* --- backoff --- */

TEST(pauses_double_up_to_a_limit)
{
    struct backoff pause = {.first_ms = 100, .most_ms = 1000};
    static const int64_t expected[] = {100, 200, 400, 800, 1000, 1000};
    int others = 0;

    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        int64_t ms = backoff_next(&pause);
        assert_in_range(ms, expected[i] * 3 / 4, expected[i] * 5 / 4);
    }
    pause.tries = 0;
    assert_in_range(backoff_next(&pause), 75, 125);
    pause.tries = 10;
    int64_t one = backoff_next(&pause);
    for (int i = 0; i < 64; i++)
        others += backoff_next(&pause) != one;
    assert_true(others > 0);
}

TEST(numbers_compare_by_digits)
{
    static const char *const rising[] = {
        "-1e400",
        "-99999999999999.99",
        "-99999999999999.98",
        "-10",
        "-9.5",
        "-0.001",
        "-1e-400",
        "0",
        "1e-400",
        "0.0009",
        "1e-3",
        "0.5",
        "1.49999999999999999999",
        "1.5",
        "99999999999999.98",
        "99999999999999.99",
        "99999999999999.990000000000000000001",
        "9007199254740992",
        "9007199254740993",
        "1e20",
        "1e400",
        "1e99999999999999999999",
    };
    static const char *const equal[][2] = {
        {"1.5", "1.50"},
        {"0", "-0.0"},
        {"0e5", "0.000"},
        {"100", "1e2"},
        {"0.01", "1E-2"},
        {"12345.6789e-2", "123.456789"},
        {"0.00123e3", "1.23"},
        {"-70", "-7e+1"},
        {"10.0", "10"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rising); i++)
        for (size_t k = 0; k < ARRAY_LEN(rising); k++)
            assert_int_equal(num_compare(str_from(rising[i]), str_from(rising[k])),
                             (i > k) - (i < k));
    for (size_t i = 0; i < ARRAY_LEN(equal); i++)
        assert_int_equal(num_compare(str_from(equal[i][0]), str_from(equal[i][1])), 0);
}

TEST(numbers_are_sorted_and_kept_once)
{
    int64_t numbers[] = {3, INT64_MAX, -1, 3, INT64_MIN, 3, -1};
    static const int64_t sorted[] = {INT64_MIN, -1, 3, INT64_MAX};

    assert_int_equal(num_sort_unique(NULL, 0), 0);
    assert_int_equal(num_sort_unique(numbers, ARRAY_LEN(numbers)), ARRAY_LEN(sorted));
    assert_memory_equal(numbers, sorted, sizeof(sorted));
    assert_non_null(bsearch(&sorted[2], numbers, 4, sizeof(*numbers), num_compare_i64));
}

TEST(whole_numbers_in_other_words)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"-0.0", 0},
        {"0e7", 0},
        {"7.0", 7},
        {"1e2", 100},
        {"1.25e2", 125},
        {"-12.50e1", -125},
        {"9223372036854775807.0", INT64_MAX},
        {"-9223372036854775808.000", INT64_MIN},
        {"922337203685477580700e-2", INT64_MAX},
        {"0.0012e5", 120},
        {"1000000000000000000000e-20", 10},
    };
    static const char *const bad[] = {
        "0.5",
        "1e-1",
        "9223372036854775808",
        "1e19",
        "12.345e1",
        "1e400",
        "1e-400",
        "1e99999999999999999999",
        "9007199254740993.5",
    };

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        int64_t value = 1;
        if (!num_parse_whole(str_from(good[i].text), &value) || value != good[i].value)
            fail_msg("%s: %lld", good[i].text, (long long)value);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t value;
        if (num_parse_whole(str_from(bad[i]), &value))
            fail_msg("%s", bad[i]);
    }
}

/* --- email --- */

/* A domain in U-labels and in A-labels is the same domain; a domain that IDNA2008 does not allow
 * stays as it is. */
TEST(addresses_have_one_spelling)
{
    static const struct {
        const char *typed;
        const char *canonical;
        size_t forms;
    } cases[] = {
        {" \t\nAda@Example.COM\r\n", "ada@example.com", 1},
        {"\xc2\xa0"
         "ada@example.com \xc2\xa0",
         "ada@example.com",
         1},
        {"ada@m\xc3\xbcnchen.example", "ada@m\xc3\xbcnchen.example", 2},
        {"ada@mu\xcc\x88nchen.example", "ada@m\xc3\xbcnchen.example", 3},
        {"ada@M\xc3\x9cNCHEN.example", "ada@m\xc3\xbcnchen.example", 3},
        {"ada@XN--mnchen-3ya.example", "ada@m\xc3\xbcnchen.example", 2},
        {"ada@fa\xc3\x9f.example", "ada@fa\xc3\x9f.example", 2},
        {"ada@xn--fa-hia.example", "ada@fa\xc3\x9f.example", 2},
        {"ada@fass.example", "ada@fass.example", 1},
        {"ada@xn--a.example", "ada@xn--a.example", 1},
        {"ada@xn--.example", "ada@xn--.example", 1},
        {"ada@-\xc3\xbc.example", "ada@-\xc3\xbc.example", 1},
        {"xn--mnchen-3ya.example", "xn--mnchen-3ya.example", 1},
        {"a@b@xn--mnchen-3ya.example", "a@b@m\xc3\xbcnchen.example", 2},
        {"", "", 1},
        {"@", "@", 1},
        {"\xff@\xff", "\xff@\xff", 1},
        {" \xc2\xa0 ", "", 1},
    };
    struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str typed = str_from(cases[i].typed);
        struct str canonical = email_canonical(arena, typed);
        if (!str_is(canonical, cases[i].canonical))
            fail_msg("%s: %.*s", cases[i].typed, STR_ARG(canonical));
        const struct email_forms forms = email_forms_of(arena, typed);
        if (forms.count != cases[i].forms)
            fail_msg("%s: %zu forms", cases[i].typed, forms.count);
        assert_true(str_eq(email_canonical(arena, canonical), canonical));
    }
    assert_str(email_forms_of(arena, STR("ada@xn--mnchen-3ya.example")).forms[0],
               "ada@xn--mnchen-3ya.example");
    assert_int_equal(email_forms_of(arena, STR("a\0@xn--mnchen-3ya.example")).count, 1);
    arena_free(arena);
}
