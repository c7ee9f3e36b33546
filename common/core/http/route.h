#pragma once
/*
 * Routes. A route table is the only place that defines a route, its authorisation, its parameters,
 * its body and its documentation. The router, the authoriser, the validators, GET /docs,
 * --list-routes, the metrics and the tests all read it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "catalog/perm.h"
#include "http/req.h"
#include "json/schema.h"

enum route_auth {
    AUTH_PUBLIC,      /* credentials are ignored */
    AUTH_OPTIONAL,    /* credentials are checked when present */
    AUTH_USER,        /* a user token, no API key */
    AUTH_USER_OR_KEY, /* a user token or API key, with .perm when set */
    AUTH_ADMIN,       /* a project administrator's token, never a key */
    AUTH_OPERATOR,    /* the operator token; outside projects */
};

/* Rate limit classes. CLASS_OF_METHOD: CLASS_READ for GET, else CLASS_WRITE. */
enum route_class { CLASS_OF_METHOD, CLASS_READ, CLASS_WRITE, CLASS_AUTH, CLASS_HEAVY };

/* A query parameter, for documentation and validation: parameters without an entry are refused with
 * 400 unknown_parameter. */
struct query_param {
    const char *name;     /* "filter" with .deep accepts filter[...]...; NULL ends the array */
    enum field_type type; /* FIELD_STR, FIELD_STRS, FIELD_I64, FIELD_BOOL, FIELD_TIME */
    bool deep;
    bool has_min, has_max;
    double min, max;
    const char *const *values;
    const char *fallback; /* the documented default */
    const char *doc;
};

/* clang-format off */
#define DRY_RUN_PARAM(text)                                                                        \
    {.name = "dry_run", .type = FIELD_BOOL, .fallback = "false", .doc = (text)}
/* clang-format on */

/* Request headers that a route understands in addition to credentials, conditions and tracing, as
 * bits of .headers. */
enum route_header {
    HEADER_IF_NONE_MATCH = 1,
    HEADER_IF_MATCH = 2,
    HEADER_LOCK_TOKEN = 4,
    HEADER_GROUP_ID = 8,
    HEADER_IDEMPOTENCY_KEY = 16,
    HEADER_RANGE = 32, /* with If-Range; adds 206 and 416 to .success.status */
};

struct route_success {
    int status;
    const struct schema *schema; /* NULL = no body */
    bool list;                   /* the body is a list envelope of .schema */
    const char *content_type;    /* NULL = application/json */
    const char *other_type;      /* a second type that is possible; NULL = none */
};

struct route {
    enum http_method method;
    const char *path; /* below the mount: "/menus/{id}/items"; a parameter is a whole segment */
    bool subtree;     /* every longer path that no other route matches, too */
    const char *id;   /* operationId, log name, metric label, test key; unique */
    enum route_auth auth;
    enum perm perm;
    enum perm perm_or;     /* a permission that suffices instead of .perm */
    enum perm perm_and;    /* a system permission that is required as well */
    const char *own_param; /* path parameter: the user of this id needs no .perm */
    bool takes_ticket;     /* ?ticket= replaces credentials (live changes) */
    const char *id_prefix; /* {id} may also be the payment processor's id, with this prefix */
    const struct query_param *query; /* NULL = none */
    bool open_query;           /* unknown parameters are ignored: shared links get utm_source= */
    bool method_override;      /* POST with X-HTTP-Method-Override may call it, too */
    unsigned headers;          /* bits of enum route_header */
    const struct schema *body; /* NULL = no JSON body is read */
    const char *body_type;     /* a body type other than JSON, streamed by the handler
                                  ("multipart/form-data") */
    bool body_optional;
    bool exact_numbers;    /* integers of the body may exceed 64 bits: values of records, and their
                              bounds */
    bool own_answer_limit; /* .run bounds the answer, not the server */
    size_t body_max;       /* 0 = the server's JSON limit */
    bool large_as_text;    /* a body above the JSON limit is not parsed: .run reads its text */
    struct route_success success;
    const struct schema *dry_run; /* the 200 response with ?dry_run=true, which changes nothing */
    int extra_statuses[8];        /* statuses of the handler, beyond those of every route */
    /* AWAITS; returns the status of the response that it has written, or a negative. It is called
     * again, with its transaction rolled back and its response discarded, when the transaction
     * conflicted with others, or when its refusal or failure may be due to an outdated model. It is
     * not called again after it has committed, written, called another server or begun a stream,
     * nor with .body_type. A route that remembers its first try (CLASS_AUTH,
     * HEADER_IDEMPOTENCY_KEY) is not called again after a 400. */
    int (*run)(struct req *req);
    /* AWAITS; decides whether the object in the path exists for the caller, and whether the caller
     * may do with it what the route does. It refuses with the 404, 403 or 401 that it writes. Other
     * responses below 500 are discarded, so the handler of the GET that shows the object can be the
     * guard. It changes nothing and opens no transaction. It is called before .run, when the body
     * is not yet read, and by GET /permissions/explain. A GET decides in .run: it needs a guard
     * only for explain, where .run does more than read. NULL: explain calls .run. */
    int (*guard)(struct req *req);
    bool run_decides; /* .run itself refuses as the guard does, by a statement that it needs anyway.
                         The guard runs only for explain, and after a 400 of .run */
    enum route_class class;
    bool hidden;              /* not in GET /docs (interactive pages) */
    bool undocumented_entity; /* entity-record routes: documented by the data model document */
    int timeout_ms;           /* 0 = the server's default */
    const char *tag;          /* NULL = the tag of its table */
    const char *summary;
    const char *doc;
};
