/* Parses and frees large JSON on threads, off the loop. */
#include "json/jr_off_thread.h"

#include "loop/work.h"

/* --- parsing --- */

typedef int (*jr_parse_fn)(struct arena *arena,
                           struct str text,
                           json_t **ret_root,
                           struct jr_error *ret_error);

struct parse_job {
    struct arena *arena;
    struct str text;
    jr_parse_fn parse;
    json_t *root;
    struct jr_error error;
    int rc;
};

/* Runs on the loop or on a thread. No other code uses the arena until it returns. */
static void parse_job_run(void *arg)
{
    struct parse_job *in = arg;

    in->rc = in->parse(in->arena, in->text, &in->root, &in->error);
}

static void tree_free(void *arena)
{
    arena_free(arena);
}

static void tree_free_deferred(void *arena)
{
    work_post(tree_free, arena);
}

/* Gives a large tree its own arena, which is freed on a thread when the caller's arena is freed. */
static void parse_job_new_arena(struct parse_job *in)
{
    struct arena *arena = in->arena;

    in->arena = arena_new(0);
    arena_defer(arena, tree_free_deferred, in->arena);
}

AWAITS static int parse_off_thread(struct task *task,
                                   struct parse_job *in,
                                   json_t **ret_root,
                                   struct jr_error *ret_error)
{
    if (in->text.len <= JR_INLINE_BYTES) {
        parse_job_run(in);
    } else {
        parse_job_new_arena(in);
        work_off_thread(task, parse_job_run, in);
    }
    *ret_root = in->root;
    *ret_error = in->error;
    return in->rc;
}

int jr_parse_off_thread(struct task *task,
                        struct arena *arena,
                        struct str text,
                        bool stored,
                        json_t **ret_root,
                        struct jr_error *ret_error)
{
    struct parse_job in = {
        .arena = arena, .text = text, .parse = stored ? jr_parse_stored : jr_parse};

    return parse_off_thread(task, &in, ret_root, ret_error);
}

int jr_parse_external_off_thread(struct task *task,
                                 struct arena *arena,
                                 struct str text,
                                 json_t **ret_root,
                                 struct jr_error *ret_error)
{
    struct parse_job in = {.arena = arena, .text = text, .parse = jr_parse_external};

    return parse_off_thread(task, &in, ret_root, ret_error);
}

int jr_parse_queued(struct task *task,
                    struct arena *arena,
                    struct str text,
                    bool stored,
                    json_t **ret_root,
                    struct jr_error *ret_error)
{
    struct parse_job in = {
        .arena = arena, .text = text, .parse = stored ? jr_parse_stored : jr_parse};

    if (text.len <= JR_INLINE_BYTES)
        return jr_parse_off_thread(task, arena, text, stored, ret_root, ret_error);
    parse_job_new_arena(&in);
    TRY(work_run(task, WORK_PARSE, parse_job_run, &in));
    *ret_root = in.root;
    *ret_error = in.error;
    return in.rc;
}

/* --- sizes --- */

#define NODE_BYTES 32 /* approximate memory of a value, not counting its text */

/* Subtracts the weight of the value and of everything in it from *left, and stops at 0. */
/* NOLINTNEXTLINE(misc-no-recursion): JSON is nested at most 64 deep */
static void weight_subtract(const json_t *value, size_t *left)
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
        weight_subtract(item, left);
    }
    json_array_foreach(value, i, item)
    {
        if (*left == 0)
            return;
        weight_subtract(item, left);
    }
}

bool jr_is_large(const json_t *value)
{
    size_t left = JR_INLINE_BYTES;

    weight_subtract(value, &left);
    return left == 0;
}

/* --- freeing --- */

static void value_free(void *value)
{
    json_decref(value);
}

static void value_free_deferred(void *value)
{
    if (jr_is_large(value))
        work_post(value_free, value);
    else
        value_free(value);
}

void jr_attach_large(struct arena *arena, json_t *value)
{
    if (value != NULL)
        arena_defer(arena, value_free_deferred, value);
}
