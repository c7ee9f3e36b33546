#pragma once
/*
 * An integration: somebody else's API as a project describes it. Where it is, what opens it, and
 * its operations. The gateway refuses what is not whole before it is stored; whoever runs an
 * operation reads that one again from what was stored.
 *
 *     {"name", "base_url", "auth": {"scheme", ...}, "operations": [{"name", "method", "path":
 *      "/users/{id}", "params": [{"name": "id", "in": "path", "type": "integer"}], "headers",
 *      "query", "body", "body_type", "response": {"results_path", "map"}}]}
 *
 * Parameters have names of their own; "as" is what they are called on the wire, by default the
 * same. "headers", "query" and "body" are templates: {{ name }} stands for a parameter (fill.h).
 * Without a body template the parameters in "body" are members of an object. Paths stay below
 * base_url, and all of it at one origin (scheme, host, port): credentials are bound to that.
 */
#include "json/schema.h"

#define INTEGRATIONS_MAX           200 /* of a project */
#define INTEGRATION_OPERATIONS_MAX 200
#define INTEGRATION_PARAMS_MAX     64
#define INTEGRATION_BYTES_MAX      524288 /* of all operations, as text */
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
extern const char *const integration_schemes[]; /* "none" ..., NULL-terminated */

struct integration_auth {
    struct in_str scheme;
    struct in_str name, prefix; /* of header and query */
    struct in_str authorization_url, token_url, revocation_url;
    struct in_str client_id, client_secret; /* of oauth2_code: the project's own client */
    struct in_str client_auth;              /* basic (default) or body */
    struct in_str audience;
    struct in_strs scopes;
};

enum integration_place { IN_PATH, IN_QUERY, IN_HEADER, IN_BODY };

struct integration_param {
    struct in_str name, in, as, type, description;
    struct in_bool required, secret;
    struct in_json fallback; /* "default" */
    struct in_json values;   /* "enum": an array of scalars */
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

/* Bodies of POST and PUT, the parts of what is stored, and what is answered. */
extern const struct schema integration_create_schema;
extern const struct schema integration_update_schema;
extern const struct schema integration_auth_schema;
extern const struct schema integration_operation_schema;
extern const struct schema integration_out_schema;

/* any: a name of integrations and operations: a letter, then letters, digits, _ - and . */
bool integration_name_ok(struct str name);
/* any: what a schema cannot say of one that will be stored: addresses, paths and their parameters,
 * templates, what the scheme demands. `in` is whole: what a PUT left out has been filled in. True
 * when it added no finding. */
bool integration_check(struct arena *arena,
                       const struct integration_in *in,
                       struct schema_errors *errors);
/* any: the same of `auth` alone. */
void integration_check_auth(struct arena *arena,
                            const struct integration_auth *auth,
                            struct schema_errors *errors);
/* any: by its name; of what was checked. */
enum integration_scheme integration_scheme_of(const struct integration_auth *auth);
enum integration_place integration_place_of(const struct integration_param *param);
/* any: what a parameter is called on the wire. */
struct str integration_wire_name(const struct integration_param *param);
/* any: scheme://host:port of an address that was checked, in lower case, the port always there;
 * STR_NONE when there is none to be read. Arena-owned. */
struct str integration_origin(struct arena *arena, struct str url);
/* any: an address that requests can be sent to as it is: absolute, http or https, nobody's name in
 * it. NULL, or what is wrong. */
const char *integration_url_fault(struct str url, bool query_allowed);
/* any: addresses and paths of a body as they are stored: percent-encoded where they are not ASCII.
 * Changes `body`. */
void integration_escape(struct arena *arena, json_t *body);
/* any: a segment of a path that servers take for a step up or for nothing, written out or escaped:
 * "..", "%2e". */
bool integration_is_dots(struct str segment);
/* any: reads what was stored. 0, or INTEGRATION_BAD: a version of ours that is not this one wrote
 * it. */
int integration_auth_read(struct arena *arena, struct str text, struct integration_auth *ret_auth)
    MUSTCHECK;
int integration_operation_read(struct arena *arena,
                               struct str text,
                               struct integration_operation *ret_operation) MUSTCHECK;
/* any: NULL = there is none. */
const struct integration_param *
integration_param_find(const struct integration_operation *operation, struct str name);
