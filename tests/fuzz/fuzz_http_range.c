/*
 * Range headers: for any header, the sent ranges lie within the representation, contain no byte
 * twice, and are the requested bytes. The first two bytes are the length of the representation.
 */
#include <stdint.h>

#include "base/panic.h"
#include "http/range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LENGTH_MAX 1024

/* Evaluates one range spec the slow way: marks each requested byte. */
static void mark(struct str spec, int64_t length, bool *wanted)
{
    const bool suffix = spec.len > 0 && spec.ptr[0] == '-';
    int64_t numbers[2] = {0, INT64_MAX / 2};
    bool given[2] = {false, false};
    size_t side = 0;

    for (size_t i = 0; i < spec.len; i++) {
        if (spec.ptr[i] == '-') {
            side = 1;
            continue;
        }
        if (!given[side])
            numbers[side] = 0;
        given[side] = true;
        if (numbers[side] < INT64_MAX / 100)
            numbers[side] = numbers[side] * 10 + (spec.ptr[i] - '0');
    }
    for (int64_t at = 0; at < length; at++)
        if (suffix ? at >= length - numbers[1] : at >= numbers[0] && at <= numbers[1])
            wanted[at] = true;
}

static void check_parts(struct str header, int64_t length, const struct ranges *ranges)
{
    bool wanted[LENGTH_MAX] = {false};
    bool sent[LENGTH_MAX] = {false};
    struct str rest = header;

    (void)str_split(&rest, '=');
    while (rest.ptr) {
        struct str spec = str_trim(str_split(&rest, ','));
        if (spec.len > 0)
            mark(spec, length, wanted);
    }
    MUST(ranges->count >= 1 && ranges->count <= RANGES_MAX);
    for (size_t i = 0; i < ranges->count; i++) {
        const struct range *range = &ranges->items[i];
        MUST(range->first >= 0 && range->length > 0 && range->length <= length - range->first);
        for (int64_t at = range->first; at < range->first + range->length; at++) {
            MUST(!sent[at]);
            sent[at] = true;
        }
    }
    for (int64_t at = 0; at < length; at++)
        MUST(sent[at] == wanted[at]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ranges ranges;

    if (size < 2)
        return 0;
    int64_t length = (data[0] | data[1] << 8) % (LENGTH_MAX + 1);
    struct str header = {(const char *)data + 2, size - 2};
    if (range_parse(header, length, &ranges) == RANGE_PARTS)
        check_parts(header, length, &ranges);
    if (range_parse(header, INT64_MAX, &ranges) == RANGE_PARTS)
        for (size_t i = 0; i < ranges.count; i++)
            MUST(ranges.items[i].first >= 0 && ranges.items[i].length > 0 &&
                 ranges.items[i].length <= INT64_MAX - ranges.items[i].first);
    return 0;
}
