#pragma once
/* Declarations that connection.c and connection_token.c share. */
#include "integrations/connection.h"

/* co: Reads a row of connection_use and decrypts its secrets. 0, INTEGRATION_BAD, or a negative. */
AWAITS int connection_read(struct task *task,
                           struct project *project,
                           const struct rows *rows,
                           size_t row,
                           struct connection *ret_connection) MUSTCHECK;
/* any: Sets *error and returns INTEGRATION_FAILED. */
int connection_fail(struct connection_error *error,
                    enum problem problem,
                    struct arena *arena,
                    const char *message);
/* any: Returns NULL, or why the connection cannot be used with the integration as it is now. */
const char *connection_fault(struct arena *arena,
                             const struct integration_source *source,
                             const struct connection *connection);
