#pragma once
/*
 * Reads large JSON texts without blocking the loop: parsing a megabyte takes ten milliseconds, and
 * freeing its tree as long.
 */
#include "json/jr.h"
#include "loop/task.h"

/* Texts longer than this, and trees larger than this, are handled on a thread. */
#define JR_INLINE_BYTES ((size_t)32 << 10)

/* co: Runs jr_parse(), or jr_parse_stored() when `stored`. `text` must not change until the
 * function returns. A large text is parsed on a thread, into an arena of its own that is freed on a
 * thread when `arena` is reset or freed. Returns the results of jr_parse(). */
AWAITS int jr_parse_off_thread(struct task *task,
                               struct arena *arena,
                               struct str text,
                               bool stored,
                               json_t **ret_root,
                               struct jr_error *ret_error) MUSTCHECK;
/* co: Like jr_parse_off_thread(), with jr_parse_external(). */
AWAITS int jr_parse_external_off_thread(struct task *task,
                                        struct arena *arena,
                                        struct str text,
                                        json_t **ret_root,
                                        struct jr_error *ret_error) MUSTCHECK;
/* co: Like jr_parse_off_thread(), but a large text needs a slot of WORK_PARSE. Returns -EAGAIN when
 * too many texts of the project already wait for a thread, or -ECANCELED, -ETIMEDOUT. */
AWAITS int jr_parse_queued(struct task *task,
                           struct arena *arena,
                           struct str text,
                           bool stored,
                           json_t **ret_root,
                           struct jr_error *ret_error) MUSTCHECK;
/* any: Whether a value takes more than about JR_INLINE_BYTES, so that printing or copying it would
 * block the loop for long. */
bool jr_is_large(const json_t *value);
/* any: Passes the caller's reference to `arena`, which must be freed on the loop. A large tree is
 * then freed on a thread. NULL does nothing. */
void jr_attach_large(struct arena *arena, json_t *value);
