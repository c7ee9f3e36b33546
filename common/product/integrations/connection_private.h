#pragma once
/* What the files of connections share. */
#include "integrations/connection.h"

/* co: a row of connection_use. 0, INTEGRATION_BAD, or a negative. */
AWAITS int connection_read(struct task *task,
                           struct project *project,
                           const struct rows *rows,
                           size_t row,
                           struct connection *ret_connection) MUSTCHECK;
/* any: INTEGRATION_FAILED with its reason. */
int connection_fail(struct connection_error *error,
                    enum problem problem,
                    struct arena *arena,
                    const char *message);
/* any: NULL, or why it cannot be used with what the integration is now. */
const char *connection_fault(struct arena *arena,
                             const struct integration_source *source,
                             const struct connection *connection);
