#pragma once
/*
 * Builds the request of an operation. Credentials are added in a second step, so that the result of
 * the first can be shown and logged.
 */
#include "fetch/fetch.h"
#include "integrations/fill.h"

/* The credentials of one request. An empty text means none. */
struct outgoing_credentials {
    enum integration_scheme scheme; /* OAuth 2 is SCHEME_BEARER here */
    struct str name, prefix;        /* of SCHEME_HEADER and SCHEME_QUERY */
    struct str token;
    struct str username, password; /* basic */
};

/* Arena-owned. */
struct outgoing_request {
    struct fetch_request request;
    struct fetch_header *headers; /* request.headers, with space for headers that are added later */
    struct str masked_url;        /* the URL without credentials, hidden values masked */
};

/* any: Builds URL, headers and body of an operation from the values of its parameters. Returns 0,
 * INTEGRATION_FAILED with a finding for a value that its place does not allow, or
 * INTEGRATION_TOO_LARGE. */
int outgoing_build(struct arena *arena,
                   struct str base_url,
                   struct fill_values *values,
                   struct outgoing_request *ret_outgoing,
                   struct schema_errors *errors) MUSTCHECK;
/* any: Adds a header unless one of that name exists. Borrows name and value. */
void outgoing_add_header(struct outgoing_request *outgoing, const char *name, struct str value);
/* any: Returns the request with credentials; its headers are arena-owned. `url`: where to send it
 * instead, which must be at the same origin; STR_NONE = the address of `outgoing`. */
struct fetch_request outgoing_add_credentials(struct arena *arena,
                                              const struct outgoing_request *outgoing,
                                              const struct outgoing_credentials *credentials,
                                              struct str url);
/* any: Returns the absolute address of a redirect; STR_NONE when it must not be followed, because
 * it leads to another origin or is malformed. Arena-owned. */
struct str outgoing_redirect(struct arena *arena, struct str from, struct str location);
