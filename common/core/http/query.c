/* Parses query strings and form bodies: splits them, decodes once, and separates keys in
 * brackets. */
#include "http/query.h"

#include "base/clock.h"
#include "base/codec.h"

#define ITEMS_MAX 100

static size_t query_string_count_items(struct str text)
{
    size_t count = text.len > 0 ? 1 : 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] == '&';
    return count;
}

/* Splits "name[key][key]" after decoding, because clients that send %5B mean a bracket. */
static bool split_keys(struct str decoded, struct query_item *item, const char **ret_reason)
{
    const char *end = decoded.ptr + decoded.len;
    const char *open = decoded.len ? memchr(decoded.ptr, '[', decoded.len) : NULL;
    const char *at = open ? open : end;

    item->name = (struct str){decoded.ptr, (size_t)(at - decoded.ptr)};
    item->key_count = 0;
    if (item->name.len == 0) {
        *ret_reason = "a parameter has no name";
        return false;
    }
    if (memchr(item->name.ptr, ']', item->name.len)) {
        *ret_reason = "the brackets of a parameter are not balanced";
        return false;
    }
    while (at < end) {
        const char *close = memchr(at, ']', (size_t)(end - at));
        if (*at != '[' || !close || memchr(at + 1, '[', (size_t)(close - at - 1))) {
            *ret_reason = "the brackets of a parameter are not balanced";
            return false;
        }
        if (item->key_count == QUERY_KEYS_MAX) {
            *ret_reason = "a parameter has more than 7 keys in brackets";
            return false;
        }
        item->keys[item->key_count++] = (struct str){at + 1, (size_t)(close - at - 1)};
        at = close + 1;
    }
    return true;
}

static bool query_string_parse_item(struct arena *arena,
                                    struct str text,
                                    struct query_item *item,
                                    const char **ret_reason)
{
    struct str value = text;
    struct str raw_name = str_split(&value, '=');
    struct str name;

    if (!value.ptr)
        value = STR("");
    if (!codec_percent_decode(arena, raw_name, true, &name) ||
        !codec_percent_decode(arena, value, true, &item->value)) {
        *ret_reason = "a parameter has a malformed percent escape or a NUL, or is not UTF-8";
        return false;
    }
    return split_keys(name, item, ret_reason);
}

int query_parse(struct arena *arena,
                struct str text,
                struct query *ret_query,
                const char **ret_reason)
{
    struct query query = {0};
    struct str rest = text;
    size_t most = query_string_count_items(text);

    if (most > (size_t)ITEMS_MAX * 2) { /* leaves room for empty parameters ("a&&b") */
        *ret_reason = "too many parameters, at most 100 are allowed";
        return QUERY_INVALID;
    }
    if (most > 0)
        query.items = ARENA_ARRAY(arena, query.items, most);
    while (most > 0 && rest.ptr) {
        struct str chunk = str_split(&rest, '&');
        if (chunk.len == 0)
            continue;
        if (query.count == ITEMS_MAX) {
            *ret_reason = "too many parameters, at most 100 are allowed";
            return QUERY_INVALID;
        }
        if (!query_string_parse_item(arena, chunk, &query.items[query.count], ret_reason))
            return QUERY_INVALID;
        query.count++;
    }
    *ret_query = query;
    return 0;
}

struct str query_get(const struct query *query, const char *name)
{
    struct str wanted = str_from(name);
    for (size_t i = 0; i < query->count; i++)
        if (query->items[i].key_count == 0 && str_eq(query->items[i].name, wanted))
            return query->items[i].value;
    return STR_NONE;
}

const struct str *
query_texts(struct arena *arena, const struct query *query, const char *name, size_t *ret_count)
{
    struct str rest = query_get(query, name);
    struct str *texts = NULL;
    size_t capacity = 0;

    *ret_count = 0;
    while (rest.ptr) {
        struct str text = str_split(&rest, ',');
        ARENA_PUSH(arena, texts, *ret_count, capacity, text);
    }
    return texts;
}

int64_t query_time(const struct query *query, const char *name)
{
    int64_t wall_ms;

    if (!clock_parse(query_get(query, name), &wall_ms))
        return 0;
    return wall_ms ? wall_ms : 1; /* statements read 0 as null */
}
