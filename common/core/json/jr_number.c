/*
 * Literals of numbers. jansson reads a real as a double and drops its text, so that
 * 99999999999999.99 would be printed as another number. Therefore each node of a real is allocated
 * with room after it for the literal, which is stored when it differs from the shortest text of the
 * double.
 */
#include "json/jr_number_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"
#include "base/num.h"
#include "base/panic.h"
#include "json/jr.h"

#define NODE_BYTES  24U /* size of jansson's node of a real: type, references, value */
#define PRINT_BYTES 32

/* The allocation for a real: jansson's node, followed by our part. */
struct number_node {
    char jansson[NODE_BYTES];
    size_t len; /* 0 = no literal */
    char text[];
};

/* Allocator for jansson. A node of NODE_BYTES gets our part as well, zeroed: no literal. */
static void *node_alloc(size_t bytes)
{
    return bytes == NODE_BYTES ? calloc(1, sizeof(struct number_node)) : malloc(bytes);
}

/* Runs before main(), so before jansson allocates any node: a node of jansson's default allocator
 * could not be distinguished from ours. */
__attribute__((constructor)) static void allocator_install(void)
{
    json_set_alloc_funcs(node_alloc, free);
}

struct str jr_literal(const json_t *value)
{
    const struct number_node *node = (const void *)value;

    if (!json_is_real(value) || node->len == 0)
        return STR_NONE;
    return (struct str){node->text, node->len};
}

struct str jr_number(const json_t *value, char *buf)
{
    struct str literal = jr_literal(value);

    if (literal.ptr != NULL)
        return literal;
    if (json_is_integer(value))
        return (struct str){buf, num_print_i64(buf, json_integer_value(value))};
    if (json_is_real(value))
        return (struct str){buf, num_print_f64(buf, json_real_value(value))};
    return STR_NONE;
}

/* --- a parsed text --- */

bool number_is_wide(struct str digits)
{
    int64_t value;

    return digits.len > 18 && !num_parse_i64(digits, &value);
}

size_t number_end(struct str text, size_t at, bool *ret_integer)
{
    *ret_integer = true;
    for (at++; at < text.len; at++) {
        char c = text.ptr[at];
        if (c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-')
            *ret_integer = false;
        else if (c < '0' || c > '9')
            break;
    }
    return at;
}

struct str number_next(struct str text, size_t *at)
{
    bool integer;
    int c;

    while ((c = json_scan(text, at)) >= 0) {
        if (c == '-' || (c >= '0' && c <= '9')) {
            size_t begin = *at - 1;
            *at = number_end(text, begin, &integer);
            return (struct str){text.ptr + begin, *at - begin};
        }
    }
    return STR_NONE;
}

/* Whether printing the double would not give the literal. */
static bool is_inexact(struct str literal, double value)
{
    char buf[PRINT_BYTES];

    return !str_eq((struct str){buf, num_print_f64(buf, value)}, literal);
}

/* Returns a new node that replaces `value`, or NULL when `value` can stay. */
static json_t *node_new_with_literal(const json_t *value, struct str literal)
{
    if (literal.ptr == NULL || !is_inexact(literal, json_real_value(value)))
        return NULL;
    json_t *plain = json_real(json_real_value(value));
    MUST(plain != NULL);
    struct number_node *node = realloc(plain, sizeof(*node) + literal.len);
    MUST(node != NULL);
    node->len = literal.len;
    memcpy(node->text, literal.ptr, literal.len);
    return (json_t *)(void *)node;
}

struct literal_cursor {
    struct str text;
    size_t at;
};

/* NOLINTBEGIN(misc-no-recursion, clang-analyzer-unix.Malloc): JSON is nested at most 64 deep, and
 * the tree takes ownership of the new nodes */

/* Walks the tree in step with the text: members are iterated in the order of the text. Returns the
 * node that replaces `value`, or NULL. */
static json_t *literals_attach(struct literal_cursor *in, json_t *value)
{
    if (json_is_object(value)) {
        for (void *at = json_object_iter(value); at != NULL;
             at = json_object_iter_next(value, at)) {
            json_t *other = literals_attach(in, json_object_iter_value(at));
            if (other != NULL)
                MUST(json_object_iter_set_new(value, at, other) == 0);
        }
        return NULL;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        json_t *other = literals_attach(in, json_array_get(value, i));
        if (other != NULL)
            MUST(json_array_set_new(value, i, other) == 0);
    }
    if (!json_is_number(value))
        return NULL;
    struct str literal = number_next(in->text, &in->at);
    return json_is_real(value) ? node_new_with_literal(value, literal) : NULL;
}

/* NOLINTEND(misc-no-recursion, clang-analyzer-unix.Malloc) */

/* Whether a double loses some number of the text. In most texts none, so the tree is not walked. */
static bool has_inexact_number(struct str text)
{
    size_t at = 0;

    for (struct str number = number_next(text, &at); number.ptr != NULL;
         number = number_next(text, &at)) {
        bool integer;
        double value = 0;
        (void)number_end(number, 0, &integer);
        if (integer ? number_is_wide(number)
                    : !num_parse_f64(number, &value) || is_inexact(number, value))
            return true;
    }
    return false;
}

void number_attach_literals(json_t **root, struct str text)
{
    struct literal_cursor in = {.text = text};

    if (!has_inexact_number(text))
        return;
    json_t *other = literals_attach(&in, *root);
    if (other == NULL)
        return;
    json_decref(*root);
    *root = other;
}
