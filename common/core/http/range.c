/* Parses byte ranges. */
#include "http/range.h"

#include "base/ascii.h"

#define SPECS_MAX 64 /* accepted ranges before they are merged */

/* Reads a number of any length. Above 63 bits it becomes INT64_MAX, beyond any representation. */
static bool range_digits(struct str text, int64_t *ret_value)
{
    int64_t value = 0;

    if (text.len == 0 || !ascii_has_only(text, ASCII_DIGIT, ""))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        int digit = text.ptr[i] - '0';
        value = value > (INT64_MAX - digit) / 10 ? INT64_MAX : value * 10 + digit;
    }
    *ret_value = value;
    return true;
}

/* Parses "0-499", "500-" or "-500". False: malformed. Length 0: outside of the representation. */
static bool parse_spec(struct str spec, int64_t size, struct range *ret_range)
{
    struct str rest = spec;
    struct str before = str_split(&rest, '-');
    int64_t first;
    int64_t last = INT64_MAX;

    *ret_range = (struct range){0};
    if (!rest.ptr)
        return false;
    if (before.len == 0) {
        int64_t suffix;
        if (!range_digits(rest, &suffix))
            return false;
        ret_range->length = suffix < size ? suffix : size;
        ret_range->first = size - ret_range->length;
        return true;
    }
    if (!range_digits(before, &first) || (rest.len > 0 && !range_digits(rest, &last)) ||
        last < first)
        return false;
    if (first >= size)
        return true;
    ret_range->first = first;
    ret_range->length = (last < size ? last + 1 : size) - first;
    return true;
}

static bool range_touches(const struct range *one, const struct range *other)
{
    return one->first <= other->first + other->length && other->first <= one->first + one->length;
}

/* Adds `added` to `items`, merged with all items that it touches. After each merge the search
 * begins again, because the merged range may touch items that `added` did not touch. */
static void range_merge(struct range *items, size_t *count, struct range added)
{
    size_t at = *count;

    for (size_t i = 0; i < *count;) {
        if (!range_touches(&items[i], &added)) {
            i++;
            continue;
        }
        int64_t end = added.first + added.length;
        int64_t other_end = items[i].first + items[i].length;
        added.first = items[i].first < added.first ? items[i].first : added.first;
        added.length = (other_end > end ? other_end : end) - added.first;
        at = i < at ? i : at;
        for (size_t k = i; k + 1 < *count; k++)
            items[k] = items[k + 1];
        (*count)--;
        at = at > *count ? *count : at;
        i = 0;
    }
    for (size_t k = *count; k > at; k--)
        items[k] = items[k - 1];
    items[at] = added;
    (*count)++;
}

enum range_answer range_parse(struct str header, int64_t size, struct ranges *ret_ranges)
{
    struct range items[SPECS_MAX];
    size_t count = 0;
    size_t specs = 0;
    struct str rest = header;
    struct str unit = str_split(&rest, '=');

    ret_ranges->count = 0;
    if (!header.ptr || !rest.ptr || !str_ieq(str_trim(unit), STR("bytes")))
        return RANGE_WHOLE;
    while (rest.ptr) {
        struct str spec = str_trim(str_split(&rest, ','));
        struct range range;
        if (spec.len == 0) /* empty list elements are ignored */
            continue;
        if (++specs > SPECS_MAX || !parse_spec(spec, size, &range))
            return RANGE_WHOLE;
        if (range.length > 0)
            range_merge(items, &count, range);
    }
    if (specs == 0 || count > RANGES_MAX)
        return RANGE_WHOLE;
    if (count == 0)
        return RANGE_UNSATISFIABLE;
    memcpy(ret_ranges->items, items, count * sizeof(*items));
    ret_ranges->count = count;
    return RANGE_PARTS;
}

bool range_if(struct str if_range, struct str etag, struct str last_modified)
{
    if (!if_range.ptr)
        return true;
    return str_eq(if_range, if_range.len > 0 && if_range.ptr[0] == '"' ? etag : last_modified);
}
