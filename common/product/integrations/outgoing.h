#pragma once
/*
 * The request that an operation becomes. Credentials are put on at the end, so that everything
 * before them can be shown.
 */
#include "fetch/fetch.h"
#include "integrations/fill.h"

/* What opens an API, as one request wants it; empty texts are none. */
struct outgoing_credentials {
    enum integration_scheme scheme; /* OAuth 2 is SCHEME_BEARER here */
    struct str name, prefix;        /* header, query */
    struct str token;
    struct str username, password; /* basic */
};

/* Arena-owned. */
struct outgoing {
    struct fetch_request request;
    struct fetch_header *headers; /* request.headers, with room for those that come later */
    struct str shown;             /* the URL without credentials, hidden values masked */
};

/* any: URL, headers and body of an operation with these values. 0; INTEGRATION_FAILED with a
 * finding: a value that cannot stand where it belongs; INTEGRATION_TOO_LARGE. */
int outgoing_build(struct arena *arena,
                   struct str base_url,
                   struct fill_values *values,
                   struct outgoing *ret_outgoing,
                   struct schema_errors *errors) MUSTCHECK;
/* any: adds a header, unless one of that name is there. */
void outgoing_header(struct outgoing *outgoing, const char *name, struct str value);
/* any: `outgoing` with credentials, to be sent to another address of the same origin if `url` is
 * given. */
struct fetch_request outgoing_sign(struct arena *arena,
                                   const struct outgoing *outgoing,
                                   const struct outgoing_credentials *credentials,
                                   struct str url);
/* any: where a redirect leads, absolute, when it may be followed: to the same origin. STR_NONE when
 * it may not. Arena-owned. */
struct str outgoing_redirect(struct arena *arena, struct str from, struct str location);
