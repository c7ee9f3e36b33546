#pragma once
/*
 * Project secrets ({{ $svc.secrets.NAME }}): values leave the database only for a step that needs
 * them, and are masked wherever they would be stored.
 */
#include <jansson.h>

#include "base/secret_mask.h"
#include "project/project.h"

/* Where a secret may be sent. */
struct secret_hosts {
    bool bound; /* false: anywhere */
    size_t count;
    const struct str *names; /* lower case */
};

/* Opened values; arena-owned, wiped when the arena ends. */
struct secret_values {
    size_t count;
    struct str *names;
    struct str *values;
    struct secret_hosts *hosts;
    bool *used; /* by the step that runs: its own history masks them however short they are */
};
/* co: reads and opens the named secrets in one statement. 0, SECRETS_UNREADABLE, a DB_*, or a
 * negative. Names that do not exist are left out. */
AWAITS int secrets_open(struct task *task,
                        struct project *project,
                        const struct str *names,
                        size_t count,
                        struct secret_values **ret_values) MUSTCHECK;
/* co: values of all secrets of the project, for secrets_mask() alone; those that cannot be opened
 * are left out. 0, a DB_*, or a negative. */
AWAITS int secrets_open_all(struct task *task,
                            struct project *project,
                            struct secret_values **ret_values) MUSTCHECK;
/* any: STR_NONE when unknown, else it is used from now on. `values` is a struct secret_values.
 * Matches template_secret_fn. */
struct str secrets_value(struct str name, void *values);

/* any: nothing is used yet: before a step. */
void secrets_unuse(const struct secret_values *values);
/* any: a used secret that may not be sent to this host (in any case), STR_NONE = there is none. */
struct str secrets_unsendable(const struct secret_values *values, struct str host);
/* any: without the white space around it, which gets lost on its way: borrows. */
struct str secrets_trim(struct str value);

#define SECRETS_MASK       SECRET_MASK
#define SECRETS_MASK_LEAST 4 /* bytes; shorter values would be found everywhere */

/* any: a copy of `value` (arena-owned; `value` itself when nothing was found) in which every opened
 * secret of at least SECRETS_MASK_LEAST bytes, or that is used, is replaced by SECRETS_MASK: in
 * texts and member names at any depth, and numbers that print as a secret. White space around a
 * secret does not count. `values` may be NULL.
 *
 * Found in a text are: the secret as it is; JSON-escaped, once or twice; percent-encoded, whichever
 * bytes are, also within JSON escapes (RFC 3986, and + for a blank); in base64 and base64url at
 * each of the three alignments, also within percent-encoding or JSON escapes or broken into lines
 * (RFC 4648, RFC 2045); in hexadecimal. A text made to be slow to search is replaced whole. */
json_t *secrets_mask(struct arena *arena, const struct secret_values *values, const json_t *value);
