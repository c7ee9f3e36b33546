#pragma once
/*
 * Project secrets ({{ $svc.secrets.NAME }}). Values are read from the database only to use or to
 * mask them, and are masked wherever they would be stored.
 */
#include <jansson.h>

#include "base/secret_mask.h"
#include "project/project.h"

/* The hosts to which a secret may be sent. */
struct secret_hosts {
    bool is_restricted; /* false: any host is allowed */
    size_t count;
    const struct str *names; /* lower case */
};

/* Opened secrets, arena-owned. The values are wiped when the arena ends. */
struct secret_values {
    size_t count;
    struct str *names;
    struct str *values;
    struct secret_hosts *hosts;
    bool *used; /* by the current step, whose history masks the value however short it is */
};
/* co: Reads and opens the named secrets in one statement. Names that do not exist are left out.
 * Returns 0, SECRETS_UNREADABLE when a value cannot be opened, a DB_*, or a negative. */
AWAITS int secrets_open(struct task *task,
                        struct project *project,
                        const struct str *names,
                        size_t count,
                        struct secret_values **ret_values) MUSTCHECK;
/* co: Opens all secrets of the project, for secrets_mask() only: `names` and `hosts` are not set.
 * Secrets that cannot be opened are left out. Returns 0, a DB_*, or a negative. */
AWAITS int secrets_open_all(struct task *task,
                            struct project *project,
                            struct secret_values **ret_values) MUSTCHECK;
/* any: Returns the value of a secret and marks the secret as used, or STR_NONE when the name is
 * unknown. `values` is a struct secret_values, from which the result borrows. Matches
 * template_secret_fn. */
struct str secrets_value(struct str name, void *values);

/* any: Marks all secrets as unused, before a step. `values` may be NULL. */
void secrets_reset_used(const struct secret_values *values);
/* any: Returns the name of a used secret that may not be sent to this host (in any case), or
 * STR_NONE when all may be sent. `values` may be NULL. */
struct str secrets_find_unsendable(const struct secret_values *values, struct str host);
/* any: Returns the value without the surrounding white space, which gets lost when the value is
 * sent. Borrows from `value`. */
struct str secrets_trim(struct str value);

#define SECRETS_MASK           SECRET_MASK
#define SECRETS_MASK_MIN_BYTES 4 /* bytes; shorter values would be found everywhere */

/* any: Returns a copy of `value` (arena-owned; `value` itself when nothing was found) in which
 * SECRETS_MASK replaces every opened secret that has at least SECRETS_MASK_MIN_BYTES bytes or is
 * marked as used. Masks texts and member names at any depth, and numbers that print as a secret.
 * White space around a secret is ignored. `values` may be NULL.
 *
 * A secret is found in these forms: as it is, JSON-escaped (once or twice), percent-encoded
 * (whichever bytes are encoded, also within JSON escapes, by RFC 3986 and with + for a blank), in
 * base64 and base64url (at each of the three alignments, also within percent-encoding or JSON
 * escapes or broken into lines, RFC 4648 and RFC 2045), and in hexadecimal. A text that was made to
 * be slow to search is masked as a whole. */
json_t *secrets_mask(struct arena *arena, const struct secret_values *values, const json_t *value);
