/* Masks secrets in JSON values that are to be stored. */
#include "workflow/mask_private.h"

#include <stdlib.h>

#include "base/ascii.h"
#include "base/num.h"
#include "json/jr_off_thread.h"
#include "workflow/secrets.h"

static int span_order_by_start(const void *left, const void *right)
{
    const struct mask_span *a = left;
    const struct mask_span *b = right;

    return (a->from > b->from) - (a->from < b->from);
}

/* Replaces each span by the mask. Spans that overlap become one mask. */
static struct str mask_replace(struct arena *arena, struct str text, struct mask_spans *spans)
{
    const size_t mask = sizeof(SECRETS_MASK) - 1;
    char *out = arena_alloc(arena, text.len + spans->count * mask + 1);
    size_t length = 0;
    size_t done = 0;

    qsort(spans->items, spans->count, sizeof(*spans->items), span_order_by_start);
    for (size_t i = 0; i < spans->count;) {
        size_t from = spans->items[i].from;
        size_t to = spans->items[i].to;
        for (i++; i < spans->count && spans->items[i].from < to; i++)
            to = spans->items[i].to > to ? spans->items[i].to : to;
        memcpy(out + length, text.ptr + done, from - done);
        length += from - done;
        memcpy(out + length, SECRETS_MASK, mask);
        length += mask;
        done = to;
    }
    memcpy(out + length, text.ptr + done, text.len - done);
    length += text.len - done;
    out[length] = '\0';
    return (struct str){out, length};
}

/* A line end that was pasted along with the value gets lost when the value is sent. */
struct str secrets_trim(struct str value)
{
    while (value.len > 0 && ascii_is_in(value.ptr[value.len - 1], " \t\r\n"))
        value.len--;
    while (value.len > 0 && ascii_is_in(value.ptr[0], " \t\r\n")) {
        value.ptr++;
        value.len--;
    }
    return value;
}

struct masker {
    struct arena *arena;
    const struct secret_values *values;
    struct mask_needle *needles;
    size_t count;
    size_t min_bytes; /* bytes of the shortest value to mask */
    bool has_masked;
};

static struct masker masker_new(struct arena *arena, const struct secret_values *values)
{
    struct masker masker = {.arena = arena, .values = values, .min_bytes = SECRETS_MASK_MIN_BYTES};

    if (!values || values->count == 0)
        return masker;
    masker.needles = ARENA_ARRAY(arena, masker.needles, values->count * MASK_NEEDLES);
    for (size_t i = 0; i < values->count; i++) {
        struct str value = secrets_trim(values->values[i]);
        if (value.len == 0 || (value.len < SECRETS_MASK_MIN_BYTES && !values->used[i]))
            continue;
        if (value.len < masker.min_bytes)
            masker.min_bytes = value.len;
        mask_needles(arena, value, masker.needles + masker.count);
        /* The encoded forms of a short value are hardly a character long. */
        masker.count += value.len < SECRETS_MASK_MIN_BYTES ? 1 : MASK_NEEDLES;
    }
    return masker;
}

static struct str mask_str(struct masker *masker, struct str text)
{
    struct mask_spans spans = {.arena = masker->arena};

    if (text.len < masker->min_bytes || masker->count == 0)
        return text;
    mask_find(masker->needles, masker->count, text, &spans);
    if (spans.count == 0)
        return text;
    masker->has_masked = true;
    return mask_replace(masker->arena, text, &spans);
}

static json_t *mask_text(struct masker *masker, const json_t *value)
{
    struct str text =
        mask_str(masker, (struct str){json_string_value(value), json_string_length(value)});

    return json_stringn_nocheck(text.ptr, text.len);
}

static json_t *mask_number(struct masker *masker, json_t *value)
{
    char buf[32];
    char near_buf[32];
    struct str text = jr_number(value, buf);
    struct str near = {near_buf, num_print_f64(near_buf, json_number_value(value))};

    for (size_t i = 0; i < masker->count; i++) {
        const struct mask_needle *needle = &masker->needles[i];
        if (needle->form == MASK_PLAIN &&
            (str_eq(needle->bytes, text) || str_eq(needle->bytes, near))) {
            masker->has_masked = true;
            return json_string(SECRETS_MASK);
        }
    }
    return json_incref(value);
}

static json_t *
mask_value(struct masker *masker,
           json_t *value); /* NOLINT(misc-no-recursion): JSON nests at most 64 deep */

/* NOLINTNEXTLINE(misc-no-recursion): as above */
static json_t *mask_object(struct masker *masker, json_t *value)
{
    json_t *copy = json_object();
    const char *name;
    json_t *member;

    json_object_foreach(value, name, member)
    {
        struct str masked = mask_str(masker, str_from(name));
        (void)json_object_set_new_nocheck(
            copy, arena_cstr(masker->arena, masked), mask_value(masker, member));
    }
    return copy;
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
static json_t *mask_array(struct masker *masker, json_t *value)
{
    json_t *copy = json_array();

    for (size_t i = 0; i < json_array_size(value); i++)
        (void)json_array_append_new(copy, mask_value(masker, json_array_get(value, i)));
    return copy;
}

/* NOLINTNEXTLINE(misc-no-recursion): as above */
static json_t *mask_value(struct masker *masker, json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return mask_text(masker, value);
    case JSON_INTEGER:
    case JSON_REAL:
        return mask_number(masker, value);
    case JSON_OBJECT:
        return mask_object(masker, value);
    case JSON_ARRAY:
        return mask_array(masker, value);
    default:
        return json_incref(value);
    }
}

json_t *secrets_mask(struct arena *arena, const struct secret_values *values, const json_t *value)
{
    struct masker masker = masker_new(arena, values);
    json_t *shared = (json_t *)value;

    if (value == NULL || masker.count == 0)
        return shared;
    json_t *copy = mask_value(&masker, shared);
    if (masker.has_masked) {
        jr_attach_large(arena, copy);
        return copy;
    }
    json_decref(copy);
    return shared;
}
