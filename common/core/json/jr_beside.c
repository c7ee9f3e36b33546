/* Parses and frees large JSON on threads, off the loop. */
#include "json/jr_beside.h"

#include "loop/work.h"

/* --- parsing --- */

typedef int (*jr_parse_fn)(struct arena *arena,
                           struct str text,
                           json_t **ret_root,
                           struct jr_error *ret_error);

struct parsing {
    struct arena *arena;
    struct str text;
    jr_parse_fn parse;
    json_t *root;
    struct jr_error error;
    int rc;
};

/* Runs on the loop or on a thread. No other code uses the arena until it returns. */
static void jr_beside_parse(void *arg)
{
    struct parsing *in = arg;

    in->rc = in->parse(in->arena, in->text, &in->root, &in->error);
}

static void free_tree(void *arena)
{
    arena_free(arena);
}

static void free_tree_later(void *arena)
{
    work_later(free_tree, arena);
}

/* Gives a large tree its own arena, which is freed on a thread when the caller's arena is freed. */
static void own_tree(struct parsing *in)
{
    struct arena *arena = in->arena;

    in->arena = arena_new(0);
    arena_defer(arena, free_tree_later, in->arena);
}

AWAITS static int
parse_beside(struct task *task, struct parsing *in, json_t **ret_root, struct jr_error *ret_error)
{
    if (in->text.len <= JR_HERE_BYTES) {
        jr_beside_parse(in);
    } else {
        own_tree(in);
        work_beside(task, jr_beside_parse, in);
    }
    *ret_root = in->root;
    *ret_error = in->error;
    return in->rc;
}

int jr_parse_beside(struct task *task,
                    struct arena *arena,
                    struct str text,
                    bool stored,
                    json_t **ret_root,
                    struct jr_error *ret_error)
{
    struct parsing in = {
        .arena = arena, .text = text, .parse = stored ? jr_parse_stored : jr_parse};

    return parse_beside(task, &in, ret_root, ret_error);
}

int jr_parse_foreign_beside(struct task *task,
                            struct arena *arena,
                            struct str text,
                            json_t **ret_root,
                            struct jr_error *ret_error)
{
    struct parsing in = {.arena = arena, .text = text, .parse = jr_parse_foreign};

    return parse_beside(task, &in, ret_root, ret_error);
}

int jr_parse_in_turn(struct task *task,
                     struct arena *arena,
                     struct str text,
                     bool stored,
                     json_t **ret_root,
                     struct jr_error *ret_error)
{
    struct parsing in = {
        .arena = arena, .text = text, .parse = stored ? jr_parse_stored : jr_parse};

    if (text.len <= JR_HERE_BYTES)
        return jr_parse_beside(task, arena, text, stored, ret_root, ret_error);
    own_tree(&in);
    TRY(work_run(task, WORK_PARSE, jr_beside_parse, &in));
    *ret_root = in.root;
    *ret_error = in.error;
    return in.rc;
}

/* --- sizes --- */

#define NODE_BYTES 32 /* approximate memory of a value, not counting its text */

/* Subtracts the weight of the value and of everything in it from *left, and stops at 0. */
/* NOLINTNEXTLINE(misc-no-recursion): JSON is nested at most 64 deep */
static void weigh(const json_t *value, size_t *left)
{
    size_t bytes = NODE_BYTES + (json_is_string(value) ? json_string_length(value) : 0);
    const char *name;
    json_t *item;
    size_t i;

    *left -= bytes < *left ? bytes : *left;
    json_object_foreach((json_t *)value, name, item)
    {
        if (*left == 0)
            return;
        weigh(item, left);
    }
    json_array_foreach(value, i, item)
    {
        if (*left == 0)
            return;
        weigh(item, left);
    }
}

bool jr_is_large(const json_t *value)
{
    size_t left = JR_HERE_BYTES;

    weigh(value, &left);
    return left == 0;
}

/* --- freeing --- */

static void drop(void *value)
{
    json_decref(value);
}

static void drop_later(void *value)
{
    if (jr_is_large(value))
        work_later(drop, value);
    else
        drop(value);
}

void jr_own(struct arena *arena, json_t *value)
{
    if (value != NULL)
        arena_defer(arena, drop_later, value);
}
