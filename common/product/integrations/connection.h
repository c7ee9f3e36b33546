#pragma once
/*
 * A connection: credentials of a project or of one user for an integration, sealed, with the tokens
 * that they were exchanged for. They are bound to the origins that the integration had when they
 * were given: an integration that moves away takes none along.
 *
 * Tokens are fetched by one process at a time, whoever runs: the row has a lease, and what an older
 * lease brings is dropped. No transaction is open meanwhile; who waits looks again.
 */
#include "integrations/integration.h"
#include "integrations/outgoing.h"
#include "integrations/token.h"
#include "project/project.h"
#include "workflow/secrets.h"

struct integration_source {
    int64_t id;
    struct str name, base_url;
    struct integration_auth auth;
    struct str client_secret; /* opened; STR_NONE = none, or bound to another origin */
};

struct connection {
    int64_t id;      /* 0 = none, of an integration that needs none */
    int64_t user_id; /* 0 = the project's */
    int64_t version, token_number;
    struct str status;
    struct str base_bound, token_bound;
    enum integration_scheme scheme;
    bool token_due;  /* there is none, or it ends */
    json_t *secrets; /* {"token"}, {"username", "password"}, {"client_id", ...}, opened */
};

/* Why something cannot be done, as both services say it. */
struct connection_error {
    enum problem problem;
    struct str message;
};

/* co: columns of integrations as they are used. 0, INTEGRATION_BAD, or a negative. */
AWAITS int connection_source(struct task *task,
                             struct project *project,
                             struct integration_source *source,
                             struct str auth,
                             struct str sealed,
                             struct str client_bound) MUSTCHECK;
/* co: an integration by its id. 0, INTEGRATION_FAILED when there is none, a DB_*, a negative. */
AWAITS int connection_source_load(struct task *task,
                                  struct project *project,
                                  int64_t id,
                                  struct integration_source *ret_source) MUSTCHECK;
/* co: the connection with this id, or, without one, the only one of the user's own, else the only
 * one of the project's. 0; INTEGRATION_FAILED with *ret_error; a DB_*; a negative. */
AWAITS int connection_choose(struct task *task,
                             struct project *project,
                             const struct integration_source *source,
                             int64_t user_id,
                             int64_t id,
                             struct connection *ret_connection,
                             struct connection_error *ret_error) MUSTCHECK;
/* co: a token that is good for a while, fetched if need be. As connection_choose(). */
AWAITS int connection_token(struct task *task,
                            struct project *project,
                            const struct integration_source *source,
                            struct connection *connection,
                            struct connection_error *ret_error) MUSTCHECK;
/* co: the API refused the token: the next connection_token() fetches another. A DB_*, a negative.
 */
AWAITS int connection_token_refused(struct task *task,
                                    struct project *project,
                                    struct connection *connection) MUSTCHECK;
/* any: what goes into the request. */
struct outgoing_credentials connection_credentials(const struct integration_source *source,
                                                   const struct connection *connection);
/* any: all that may not be shown, for secrets_mask(). Arena-owned. */
struct secret_values *connection_masked(struct arena *arena,
                                        const struct integration_source *source,
                                        const struct connection *connection);
/* any: whoever asks for tokens with this connection. */
struct token_client connection_client(const struct integration_source *source,
                                      const struct connection *connection);
/* any: tokens into connection->secrets; those that came without a refresh token keep theirs. */
void connection_keep_tokens(struct connection *connection, const struct token_answer *answer);
/* any: connection->secrets as they are stored. */
struct str connection_seal(struct arena *arena,
                           const struct project *project,
                           int64_t id,
                           const json_t *secrets);
/* co: opens what is stored; NULL when there is nothing. 0, INTEGRATION_BAD, or a negative. */
AWAITS int connection_open(struct task *task,
                           struct project *project,
                           int64_t id,
                           struct str sealed,
                           json_t **ret_secrets) MUSTCHECK;
