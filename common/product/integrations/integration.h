#pragma once
/*
 * An integration: a project's description of a third-party API, with its address, its
 * authentication and its operations. The gateway validates it before it is stored. To run an
 * operation, a service reads only this operation from the stored text.
 *
 *     {"name", "base_url", "auth": {"scheme", ...}, "operations": [{"name", "method", "path":
 *      "/users/{id}", "params": [{"name": "id", "in": "path", "type": "integer"}], "headers",
 *      "query", "body", "body_type", "response": {"results_path", "map"}}]}
 *
 * "as" is a parameter's name on the wire; without it "name" is used there too. "headers", "query"
 * and "body" are templates in which {{ name }} is replaced by a parameter's value (fill.h). Without
 * a body template, the parameters in "body" become the members of an object. Paths are below
 * base_url, so all requests go to one origin (scheme, host, port), to which credentials are bound.
 */
#include "json/schema.h"

#define INTEGRATIONS_MAX           200 /* of a project */
#define INTEGRATION_OPERATIONS_MAX 200
#define INTEGRATION_PARAMS_MAX     64
#define INTEGRATION_BYTES_MAX      524288 /* of all operations as JSON text */
#define INTEGRATION_SECONDS_MAX    25
#define INTEGRATION_FILLS_MAX      2000 /* expressions in the templates of an operation */

enum integration_scheme {
    SCHEME_NONE,
    SCHEME_HEADER,
    SCHEME_QUERY,
    SCHEME_BASIC,
    SCHEME_BEARER,
    SCHEME_OAUTH2_CLIENT,
    SCHEME_OAUTH2_CODE,
    INTEGRATION_SCHEMES,
};
extern const char *const integration_schemes[]; /* names of the schemes, NULL-terminated */

struct integration_auth {
    struct in_str scheme;
    struct in_str name, prefix; /* of the schemes header and query; prefix only of header */
    struct in_str authorization_url, token_url, revocation_url;
    struct in_str client_id, client_secret; /* oauth2_code: the project's client */
    struct in_str client_auth;              /* "basic" (default) or "body" */
    struct in_str audience;
    struct in_strs scopes;
};

enum integration_place { IN_PATH, IN_QUERY, IN_HEADER, IN_BODY };

struct integration_param {
    struct in_str name, in, as, type, description;
    struct in_bool required, secret;
    struct in_json fallback; /* the member "default" */
    struct in_json values;   /* the member "enum": an array of scalars */
};

struct integration_response {
    struct in_str results_path;
    struct in_json map;
};

struct integration_operation {
    struct in_str name, description, method, path, body_type;
    struct in_list params; /* struct integration_param */
    struct in_json headers, query, body;
    struct in_obj response; /* struct integration_response */
    struct in_bool follow_redirects;
    struct in_i64 timeout_seconds;
};

struct integration_in {
    struct in_str name, description, base_url;
    struct in_obj auth;        /* struct integration_auth */
    struct in_list operations; /* struct integration_operation */
};

/* Schemas of the bodies of POST and PUT, of stored parts, and of answers. */
extern const struct schema integration_create_schema;
extern const struct schema integration_update_schema;
extern const struct schema integration_auth_schema;
extern const struct schema integration_operation_schema;
extern const struct schema integration_out_schema;

/* any: Returns whether a name is valid for integrations and operations: a letter, then letters,
 * digits, _ - and . */
bool integration_name_ok(struct str name);
/* any: Validates what the schema cannot: addresses, paths and their parameters, templates, members
 * that the scheme requires. `in` must be complete: members that a PUT omitted are filled in by the
 * caller. Returns true when it added no finding. */
bool integration_check(struct arena *arena,
                       const struct integration_in *in,
                       struct schema_errors *errors);
/* any: Validates `auth` alone, like integration_check(). */
void integration_check_auth(struct arena *arena,
                            const struct integration_auth *auth,
                            struct schema_errors *errors);
/* any: integration_scheme_of() returns the scheme of an auth (SCHEME_NONE without one),
 * integration_place_of() the place of a parameter. The names must be validated. */
enum integration_scheme integration_scheme_of(const struct integration_auth *auth);
enum integration_place integration_place_of(const struct integration_param *param);
/* any: Returns the name of a parameter on the wire. Borrowed. */
struct str integration_wire_name(const struct integration_param *param);
/* any: Returns scheme://host:port of a validated address, in lower case and always with a port;
 * STR_NONE when `url` is not an absolute address. Arena-owned. */
struct str integration_origin(struct arena *arena, struct str url);
/* any: Checks that an address is absolute, http or https, without a user name and a fragment, and
 * without a query unless `query_allowed`. Returns NULL, or what is wrong (static). */
const char *integration_url_fault(struct str url, bool query_allowed);
/* any: Changes the addresses and paths in `body` to the form in which they are stored: characters
 * that are not ASCII are percent-encoded. */
void integration_escape(struct arena *arena, json_t *body);
/* any: Returns whether a path segment is "." or "..", plain or percent-encoded ("%2e"): servers
 * remove such segments and so leave the intended path. */
bool integration_segment_is_dots(struct str segment);
/* any: integration_auth_read() reads a stored auth, integration_operation_read() a stored
 * operation. Arena-owned. Returns 0, or INTEGRATION_BAD when the text is invalid: a different
 * version of this software stored it. */
int integration_auth_read(struct arena *arena, struct str text, struct integration_auth *ret_auth)
    MUSTCHECK;
int integration_operation_read(struct arena *arena,
                               struct str text,
                               struct integration_operation *ret_operation) MUSTCHECK;
/* any: Returns the parameter with this name; NULL = none. Borrowed from `operation`. */
const struct integration_param *
integration_param_find(const struct integration_operation *operation, struct str name);
