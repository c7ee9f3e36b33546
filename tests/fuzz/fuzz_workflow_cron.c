/* Cron expressions, POSIX rules and zone files: a parsed one gives ascending times that match. */
#include <stdint.h>
#include <stdlib.h>

#include "base/timezone.h"
#include "base/timezone_private.h"
#include "workflow/cron.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_span(struct timezone_span span, int64_t at_s)
{
    if (span.start_s > at_s || span.end_s <= at_s)
        abort();
}

static void fuzz_expression(struct arena *arena, struct str text)
{
    static const char *const zones[] = {"UTC", "Europe/Berlin", "Australia/Lord_Howe"};
    struct cron cron;
    struct str error;

    if (cron_parse(arena, text, &cron, &error) != 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        const struct timezone_rules *zone = timezone_find(str_from(zones[i]));
        int64_t at = 1774700000000 + (int64_t)text.len * 86400000;
        for (int n = 0; zone && n < 5; n++) {
            int64_t next = cron_next(&cron, zone, at);
            if (next < 0)
                break;
            if (next <= at || next % 60000 != 0)
                abort();
            at = next;
        }
    }
}

static void fuzz_zone(struct arena *arena, struct str bytes)
{
    struct timezone_rules *zone;
    struct posix_rules rules;
    struct cron cron = {
        .minutes = 1, .hours = 4, .days = 2, .months = 8, .any_weekday = true, .weekdays = 0x7f};

    if (posix_tz_parse(bytes, &rules) == 0) {
        for (int64_t at = 1700000000; at < 1800000000; at += 20000003)
            check_span(posix_tz_span(&rules, at), at);
    }
    if (timezone_parse(arena, bytes, &zone) != 0)
        return;
    for (int64_t at = -4000000000; at < 8000000000; at += 500000003)
        check_span(timezone_span(zone, at), at);
    int64_t next = cron_next(&cron, zone, 1774700000000);
    if (next >= 0 && next <= 1774700000000)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct arena *arena = arena_new(0);

    (void)timezone_is_name(text);
    if (size > 0 && data[0] == 'Z')
        fuzz_zone(arena, (struct str){text.ptr + 1, size - 1});
    else
        fuzz_expression(arena, text);
    arena_free(arena);
    return 0;
}
