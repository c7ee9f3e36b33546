#pragma once
/*
 * A connection: the sealed credentials of a project or of one user for an integration, and the
 * tokens that they were exchanged for. Credentials are bound to the origins that the integration
 * had when they were entered. If the integration moves to another origin, they are no longer used.
 *
 * One process at a time fetches tokens of a connection: the row has a lease, and tokens that were
 * fetched under an older lease are dropped. No transaction is open during the fetch. Other
 * processes poll the row.
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
    struct str client_secret; /* decrypted; STR_NONE = none, or bound to an origin that is not that
                                 of token_url */
};

struct connection {
    int64_t id;      /* 0 = the integration needs no connection */
    int64_t user_id; /* 0 = the project's */
    int64_t version, token_number;
    struct str status;
    struct str base_bound, token_bound; /* origins of base_url and token_url */
    enum integration_scheme scheme;
    bool token_due;  /* there is no token, or it expires soon */
    json_t *secrets; /* {"token"}, {"username", "password"}, {"client_id", ...}, decrypted */
};

/* The problem of a failed call and its message for the user, the same in all services. */
struct connection_error {
    enum problem problem;
    struct str message;
};

/* co: Sets auth and client_secret of *source, whose id is set, from columns of the integration.
 * Owned by the task's arena. Returns 0, INTEGRATION_BAD, or a negative. */
AWAITS int connection_source_read(struct task *task,
                                  struct project *project,
                                  struct integration_source *source,
                                  struct str auth,
                                  struct str sealed,
                                  struct str client_bound) MUSTCHECK;
/* co: Reads an integration by its id. Owned by the task's arena. Returns 0, INTEGRATION_FAILED when
 * there is none, INTEGRATION_BAD, a DB_*, or a negative. */
AWAITS int connection_source_load(struct task *task,
                                  struct project *project,
                                  int64_t id,
                                  struct integration_source *ret_source) MUSTCHECK;
/* co: Reads the connection with this id. If `id` is 0: the user's only connection of the
 * integration or, if the user has none, the project's only one. Owned by the task's arena. Returns
 * 0, INTEGRATION_FAILED with *ret_error, INTEGRATION_BAD, a DB_*, or a negative. */
AWAITS int connection_choose(struct task *task,
                             struct project *project,
                             const struct integration_source *source,
                             int64_t user_id,
                             int64_t id,
                             struct connection *ret_connection,
                             struct connection_error *ret_error) MUSTCHECK;
/* co: Fetches a new token if the connection's token is missing or expires soon. Results as of
 * connection_choose(). */
AWAITS int connection_token_ensure(struct task *task,
                                   struct project *project,
                                   const struct integration_source *source,
                                   struct connection *connection,
                                   struct connection_error *ret_error) MUSTCHECK;
/* co: Records that the API has refused the token, so that the next connection_token_ensure()
 * fetches a new one. Returns 0, a DB_*, or a negative. */
AWAITS int connection_token_refused(struct task *task,
                                    struct project *project,
                                    struct connection *connection) MUSTCHECK;
/* any: Returns the credentials for a request. Borrows from its arguments. */
struct outgoing_credentials connection_credentials(const struct integration_source *source,
                                                   const struct connection *connection);
/* any: Returns all values that must not be shown, for secrets_mask(). Arena-owned. */
struct secret_values *connection_secret_values(struct arena *arena,
                                               const struct integration_source *source,
                                               const struct connection *connection);
/* any: Returns the client that requests tokens with this connection. Borrows from its arguments. */
struct token_client connection_client(const struct integration_source *source,
                                      const struct connection *connection);
/* any: Copies tokens into connection->secrets. Without a new refresh token the old one is kept. */
void connection_set_tokens(struct connection *connection, const struct token_answer *answer);
/* any: Encrypts connection->secrets for the row of the connection `id`. Arena-owned. */
struct str connection_seal(struct arena *arena,
                           const struct project *project,
                           int64_t id,
                           const json_t *secrets);
/* co: Decrypts what connection_seal() returned. *ret_secrets is owned by the task's arena; NULL
 * when nothing is stored. Returns 0, INTEGRATION_BAD, or a negative. */
AWAITS int connection_open(struct task *task,
                           struct project *project,
                           int64_t id,
                           struct str sealed,
                           json_t **ret_secrets) MUSTCHECK;
