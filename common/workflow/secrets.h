#pragma once
/*
 * Project secrets ({{ $svc.secrets.NAME }}): values leave the database only for a step that needs them, and
 * are masked wherever they would be stored.
 */
#include <jansson.h>

#include "domain/project.h"

enum { SECRETS_UNREADABLE = 1 }; /* sealed with a key this process does not have */

struct secret_values; /* arena-owned, opened values */
/* co: reads and opens the named secrets in one statement. 0, SECRETS_UNREADABLE, or a db_result + 100. Names that do not
 * exist are left out. */
AWAITS int secrets_open(struct task *task, struct project *project, const struct str *names, size_t count,
                        struct secret_values **ret_values) MUSTCHECK;
/* any: STR_NONE when unknown. Matches template_secret_fn. */
struct str secrets_value(struct str name, void *values);
/* any: a copy of `value` with every opened secret of at least four bytes replaced by "********", in texts at any depth: as it
 * is, JSON-escaped, URL-encoded (both cases), and in base64 and base64url at each of the three alignments, and hex. */
json_t *secrets_mask(struct arena *arena, const struct secret_values *values, const json_t *value);
struct str secrets_mask_text(struct arena *arena, const struct secret_values *values, struct str text);
