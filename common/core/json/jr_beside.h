#pragma once
/*
 * Reading large texts beside the loop: a megabyte takes ten milliseconds to parse, and as long to
 * free.
 */
#include "json/jr.h"
#include "loop/task.h"

/* Longer texts, and trees of more, are for a thread. */
#define JR_HERE_BYTES ((size_t)32 << 10)

/* co: jr_parse(), or jr_parse_stored() when `stored`; `text` stays as it is meanwhile. A large
 * tree is in an arena of its own, which is freed on a thread when `arena` goes. */
AWAITS int jr_parse_beside(struct task *task,
                           struct arena *arena,
                           struct str text,
                           bool stored,
                           json_t **ret_root,
                           struct jr_error *ret_error) MUSTCHECK;
/* co: the same of jr_parse_foreign(). */
AWAITS int jr_parse_foreign_beside(struct task *task,
                                   struct arena *arena,
                                   struct str text,
                                   json_t **ret_root,
                                   struct jr_error *ret_error) MUSTCHECK;
/* co: the same as jr_parse_beside(), but where too many texts of the project wait for a thread
 * already it is -EAGAIN. */
AWAITS int jr_parse_in_turn(struct task *task,
                            struct arena *arena,
                            struct str text,
                            bool stored,
                            json_t **ret_root,
                            struct jr_error *ret_error) MUSTCHECK;
/* any: whether a value is so large that printing or copying it holds the loop for long. */
bool jr_is_large(const json_t *value);
/* any: drops a tree that was made, when `arena` goes, on the loop: on a thread when it is large.
 * NULL is nothing. */
void jr_own(struct arena *arena, json_t *value);
