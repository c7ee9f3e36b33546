#pragma once
/*
 * Requests and revokes tokens of OAuth 2 (RFC 6749, RFC 7009). The size of answers is limited. Of
 * an error answer only the error code is passed on.
 */
#include "integrations/integration.h"
#include "loop/task.h"

/* The OAuth 2 client that sends requests to the token server. */
struct token_client {
    const struct integration_auth *auth;
    struct str id, secret; /* an empty secret = a public client */
};

struct token_grant {
    const char *type; /* client_credentials, refresh_token, authorization_code */
    struct str refresh_token;
    struct str code, redirect_uri, code_verifier;
};

/* Arena-owned. */
struct token_answer {
    struct str access_token, refresh_token; /* no ptr in refresh_token = none */
    int64_t expires_in;                     /* seconds; -1 = not stated */
    struct str error; /* after TOKEN_REFUSED and TOKEN_UNAVAILABLE: the error code */
};

/* co: Requests tokens with a grant; the request is never repeated. Returns 0, TOKEN_REFUSED (a
 * repetition would fail too), TOKEN_UNAVAILABLE, or a negative. */
AWAITS int token_request(struct task *task,
                         const struct token_client *client,
                         const struct token_grant *grant,
                         struct token_answer *ret_answer) MUSTCHECK;
/* co: Revokes a token at the server. `hint`: its token_type_hint, "access_token" or
 * "refresh_token". Returns 0, TOKEN_UNAVAILABLE, or a negative. */
AWAITS int token_revoke(struct task *task,
                        const struct token_client *client,
                        struct str token,
                        const char *hint) MUSTCHECK;
