#pragma once
/*
 * Tokens of OAuth 2 (RFC 6749): asked for and revoked (RFC 7009). Answers are bounded, and of what
 * a server says only its error code goes further.
 */
#include "integrations/integration.h"
#include "loop/task.h"

/* Who asks. */
struct token_client {
    const struct integration_auth *auth;
    struct str id, secret; /* without a secret: a public client */
};

struct token_grant {
    const char *type; /* client_credentials, refresh_token, authorization_code */
    struct str refresh_token;
    struct str code, redirect_uri, code_verifier;
};

/* Arena-owned. */
struct token_answer {
    struct str access_token, refresh_token; /* the second may be none */
    int64_t expires_in;                     /* seconds; -1 = it does not say */
    struct str error;                       /* of TOKEN_REFUSED and TOKEN_UNAVAILABLE: a code */
};

/* co: one request, sent once. 0, TOKEN_REFUSED, TOKEN_UNAVAILABLE, or a negative. */
AWAITS int token_ask(struct task *task,
                     const struct token_client *client,
                     const struct token_grant *grant,
                     struct token_answer *ret_answer) MUSTCHECK;
/* co: tells the server that a token is not wanted any more. 0, TOKEN_UNAVAILABLE, or a negative. */
AWAITS int token_revoke(struct task *task,
                        const struct token_client *client,
                        struct str token,
                        const char *hint) MUSTCHECK;
