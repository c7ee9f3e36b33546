/*
 * The guarded reader: plain jansson accepts each accepted text with the same value, both printers
 * print a text that reads back equal, and the value has nothing that the service never stores.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "json/jr.h"
#include "json/jw.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t length)
{
    MUST(memchr(text, '\0', length) == NULL);
    MUST(utf8_valid((struct str){text, length}));
}

// NOLINTNEXTLINE(misc-no-recursion): depth is what is checked
static void check_value(const json_t *value, int depth)
{
    const char *key;
    json_t *member;
    size_t i;

    MUST(depth <= JR_MAX_DEPTH || !(json_is_object(value) || json_is_array(value)));
    if (json_is_string(value))
        check_text(json_string_value(value), json_string_length(value));
    if (json_is_real(value))
        MUST(isfinite(json_real_value(value)));
    json_object_foreach((json_t *)value, key, member)
    {
        check_text(key, strlen(key));
        check_value(member, depth + 1);
    }
    json_array_foreach((json_t *)value, i, member)
    {
        check_value(member, depth + 1);
    }
}

/* Compares numbers by value: 1.5e3 prints as 1500, which reads as an integer. */
// NOLINTNEXTLINE(misc-no-recursion): depth is bounded by the reader
static bool is_equal(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_number(a) && json_is_number(b))
        return json_typeof(a) == json_typeof(b) ? json_equal(a, b)
                                                : json_number_value(a) == json_number_value(b);
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_object(a) && json_object_size(a) == json_object_size(b)) {
        json_object_foreach((json_t *)a, key, member)
        {
            const json_t *other = json_object_get(b, key);
            if (!other || !is_equal(member, other))
                return false;
        }
        return true;
    }
    if (json_is_array(a) && json_array_size(a) == json_array_size(b)) {
        json_array_foreach((json_t *)a, i, member)
        {
            if (!is_equal(member, json_array_get(b, i)))
                return false;
        }
        return true;
    }
    return json_equal(a, b);
}

static void check_reads_back(struct arena *arena, struct str text, const json_t *value)
{
    struct jr_error error;
    json_t *again;

    MUST(jr_parse(arena, text, &again, &error) == 0);
    MUST(is_equal(value, again));
}

static void check_plain_reader_agrees(struct str text, const json_t *value)
{
    size_t flags = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES;
    json_t *plain = json_loadb(text.ptr, text.len, flags, NULL);

    MUST(plain != NULL);
    MUST(json_equal(value, plain));
    json_decref(plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str text = {(const char *)data, size};
    struct jr_error error = {.text = ""};
    struct strbuf out;
    struct jw w;
    json_t *root;

    if (jr_parse(arena, text, &root, &error) == 0) {
        check_value(root, 1);
        check_plain_reader_agrees(text, root);
        check_reads_back(arena, jr_print(arena, root), root);
        strbuf_init(&out, arena, size * 8 + 64);
        jw_init(&w, &out);
        jw_json(&w, root);
        MUST(jw_is_complete(&w));
        check_reads_back(arena, strbuf_view(&out), root);
    } else {
        MUST(error.text[0] != '\0');
        MUST(memchr(error.text, '\0', sizeof(error.text)) != NULL);
    }
    arena_free(arena);
    return 0;
}
