#pragma once
/*
 * Routes. The table is the only place where a route, its authorisation, its parameters, its body
 * and its documentation are written; the router, the authoriser, the validators, GET /docs,
 * --list-routes, the metrics and the tests all read it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "catalog/perm.h"
#include "http/req.h"
#include "json/schema.h"

enum route_auth {
    AUTH_PUBLIC,      /* no credentials looked at */
    AUTH_OPTIONAL,    /* credentials are checked when present */
    AUTH_USER,        /* a user token, no API key */
    AUTH_USER_OR_KEY, /* plus .perm when set */
    AUTH_ADMIN,       /* a project administrator's token, never a key */
    AUTH_OPERATOR,    /* the operator token; outside projects */
};

/* Rate limit classes; of its method: CLASS_READ of a GET, else CLASS_WRITE. */
enum route_class { CLASS_OF_METHOD, CLASS_READ, CLASS_WRITE, CLASS_AUTH, CLASS_HEAVY };

/* A query parameter: documentation and the list of what is known (others are 400
 * unknown_parameter). */
struct query_param {
    const char *name;     /* "filter" with .deep accepts filter[...]...; NULL ends the array */
    enum field_type type; /* FIELD_STR, FIELD_I64, FIELD_BOOL */
    bool deep;
    bool has_min, has_max;
    double min, max;
    const char *const *values;
    const char *fallback; /* documented default */
    const char *doc;
};

/* clang-format off */
#define DRY_RUN_PARAM(text)                                                                        \
    {.name = "dry_run", .type = FIELD_BOOL, .fallback = "false", .doc = (text)}
/* clang-format on */

/* Headers that a route understands beside credentials, conditions and traces: bits of .headers, for
 * documentation. */
enum route_header {
    HEADER_IF_NONE_MATCH = 1,
    HEADER_IF_MATCH = 2,
    HEADER_LOCK_TOKEN = 4,
    HEADER_GROUP_ID = 8,
    HEADER_IDEMPOTENCY_KEY = 16,
    HEADER_RANGE = 32, /* with If-Range: 206 and 416 besides .ok.status */
};

struct route_ok {
    int status;
    const struct schema *schema; /* NULL = no body */
    bool list;                   /* the envelope of .schema */
    const char *content_type;    /* NULL = application/json */
    const char *other_type;      /* NULL = content_type is the only one */
};

struct route {
    enum http_method method;
    const char *path; /* below the mount: "/menus/{id}/items"; a parameter fills one segment */
    const char *id;   /* operationId, log name, metric label, test key; unique */
    enum route_auth auth;
    enum perm perm;
    enum perm perm_or;               /* a second permission that also opens it */
    enum perm perm_and;              /* a system permission needed besides */
    const char *own;                 /* path parameter: a user whose id it is needs no .perm */
    bool ticket;                     /* ?ticket= stands for credentials (live changes) */
    const char *id_prefix;           /* {id} may also be the id at the processor, which begins so */
    const struct query_param *query; /* NULL = none */
    bool open_query;                 /* others are ignored: who passes a link on adds utm_source= */
    bool method_override;            /* POST with X-HTTP-Method-Override means this method too */
    unsigned headers;                /* bits of enum route_header */
    const struct schema *body;       /* NULL = no JSON body is read */
    const char *body_type; /* other body type, streamed by the handler ("multipart/form-data") */
    bool body_optional;
    bool exact_numbers; /* integers of the body may be longer than 64 bits: of records, and what
                           bounds them */
    size_t body_max;    /* 0 = the server's JSON limit */
    bool large_as_text; /* a body above that limit becomes no tree: .run reads its text */
    struct route_ok ok;
    const struct schema *dry_run; /* with ?dry_run=true: 200 and this, and nothing is done */
    int fails[8];                 /* what the handler adds to what any route is refused with */
    /* AWAITS; returns the status it has put, or a negative. It begins again, its transaction rolled
     * back and its answer taken back, when it met others head-on in the database, or when what it
     * refused or failed for may be due to a model that turns out to be old. It does not once it has
     * committed, written, called anybody or begun a stream, nor with .body_type; what remembers its
     * first try (CLASS_AUTH, HEADER_IDEMPOTENCY_KEY) does not for a 400. */
    int (*run)(struct req *req);
    /* AWAITS; whether the object that the path names is there for the caller, and whether the
     * caller may do with it what the route does. Refuses by the 404, 403 or 401 that it puts;
     * whatever else it puts is forgotten, so that the handler of the GET that shows the object may
     * stand here. Changes nothing and opens no transaction. It is asked before .run, the body not
     * yet read, and by GET /permissions/explain. A GET decides in .run: there this is for explain
     * alone, where .run is no mere read; NULL: .run is asked. */
    int (*guard)(struct req *req);
    bool run_decides; /* .run refuses as the guard does, by a statement that it needs anyway: the
                         guard is for explain alone */
    enum route_class class;
    bool hidden;              /* not in GET /docs (interactive pages) */
    bool undocumented_entity; /* entity-record routes: documented by the data model document */
    int timeout_ms;           /* 0 = the server's default */
    const char *tag;          /* NULL = its table's */
    const char *summary;
    const char *doc;
};
