/* Parses Accept-Language and picks a language. */
#include "http/language.h"

#define WEIGHT_ONE 1000
#define TAG_MAX    35
#define SUBTAG_MAX 8

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool languages_tag_is_valid(struct str tag)
{
    size_t run = 0;

    if (tag.len < 2 || tag.len > TAG_MAX)
        return false;
    for (size_t i = 0; i < tag.len; i++) {
        if (tag.ptr[i] == '-' && run > 0)
            run = 0;
        else if (!is_alnum(tag.ptr[i]) || ++run > SUBTAG_MAX)
            return false;
    }
    return run > 0;
}

/* Parses "q=0.5" into thousandths. An invalid weight is 0, so its range is left out. */
static unsigned weight_of(struct str text)
{
    unsigned weight = 0;
    unsigned unit = WEIGHT_ONE;

    text = str_trim(text);
    if (text.len < 3 || text.len > 7 || (text.ptr[0] != 'q' && text.ptr[0] != 'Q') ||
        text.ptr[1] != '=')
        return 0;
    for (size_t i = 2; i < text.len; i++) {
        if (i == 3 && text.ptr[i] == '.')
            continue;
        if (i == 3 || text.ptr[i] < '0' || text.ptr[i] > '9')
            return 0;
        weight += (unsigned)(text.ptr[i] - '0') * unit;
        unit /= 10;
    }
    return weight <= WEIGHT_ONE ? weight : 0;
}

/* Inserts in descending order of weight, after tags of the same weight. */
static void languages_insert(struct languages *languages, struct str tag, unsigned weight)
{
    size_t at = languages->count++;

    for (; at > 0 && languages->weights[at - 1] < weight; at--) {
        languages->tags[at] = languages->tags[at - 1];
        languages->weights[at] = languages->weights[at - 1];
    }
    languages->tags[at] = tag;
    languages->weights[at] = weight;
}

void languages_parse(struct str header, struct languages *ret_languages)
{
    ret_languages->count = 0;
    while (header.ptr && ret_languages->count < LANGUAGES_MAX) {
        struct str rest = str_split(&header, ',');
        struct str tag = str_trim(str_split(&rest, ';'));
        unsigned weight = rest.ptr ? weight_of(rest) : WEIGHT_ONE;
        if (weight > 0 && (str_is(tag, "*") || languages_tag_is_valid(tag)))
            languages_insert(ret_languages, tag, weight);
    }
}

static int find_tag(struct str wanted, const struct str *tags, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_ieq(tags[i], wanted))
            return (int)i;
    return -1;
}

/* Drops the last subtag, and also a single character before it (RFC 4647 section 3.4). */
static struct str tag_shorten(struct str tag)
{
    while (tag.len > 0 && tag.ptr[tag.len - 1] != '-')
        tag.len--;
    if (tag.len > 0)
        tag.len--;
    if (tag.len > 1 && tag.ptr[tag.len - 2] == '-')
        tag.len -= 2;
    return tag;
}

static int pick_range(struct str range, const struct str *tags, size_t count)
{
    for (struct str part = range; part.len > 0; part = tag_shorten(part)) {
        int found = find_tag(part, tags, count);
        if (found >= 0)
            return found;
    }
    for (size_t i = 0; i < count; i++) {
        if (tags[i].len > range.len && tags[i].ptr[range.len] == '-' &&
            str_ieq((struct str){tags[i].ptr, range.len}, range))
            return (int)i;
    }
    return -1;
}

int languages_pick(const struct languages *languages, const struct str *tags, size_t count)
{
    for (size_t i = 0; i < languages->count && count > 0; i++) {
        struct str range = languages->tags[i];
        int found = str_is(range, "*") ? 0 : pick_range(range, tags, count);
        if (found >= 0)
            return found;
    }
    return -1;
}
