#pragma once
/*
 * Outbound HTTP in one call that waits, fetch(): libcurl's multi interface, and nghttp2 for many
 * small requests to one host. All outbound HTTP of a process goes through this folder.
 *
 * Only http and https. The host name is resolved once, and every address must be public unless the
 * operator allows the host. The address that is used is checked again before each request, also on
 * a pooled connection. Redirects, proxies, netrc, cookies and credentials in URLs are not
 * supported. Only ports 80 and 443, unless the operator allows host:port. HTTP/2 is used where the
 * server offers it.
 *
 * Compressed responses (gzip, deflate) are unpacked as they arrive. max_response_bytes limits both
 * the received and the unpacked bytes.
 *
 * A response to FETCH_PUSH_FCM or FETCH_PUSH_WEB with max_response_bytes of at most 64 KB may lack
 * all headers but `retry-after`. Callers may use only its status, its body and this header.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"

struct arena;
struct share;
struct task;

#define FETCH_DEFAULT_TIMEOUT_MS     10000
#define FETCH_DEFAULT_RESPONSE_BYTES 1048576
#define FETCH_MAX_URL_BYTES          8192
#define FETCH_MAX_HEADERS            100
#define FETCH_MAX_HEADER_BYTES       32768

/* A caller that reports results to a user must use one and the same text for FETCH_REFUSED,
 * FETCH_UNREACHABLE and FETCH_TIMEOUT. Otherwise users could scan the ports of internal hosts. */

/* The purpose of a request. Each purpose has its own quota within a project, so requests for one
 * purpose do not wait for requests for another purpose. */
enum fetch_purpose {
    FETCH_ANYTHING, /* requests of jobs: only the project's quota applies */
    FETCH_IDENTITY, /* a project's identity provider; connections are not reused */
    FETCH_PROCESSOR,
    FETCH_STORE,
    FETCH_PUSH_FCM, /* many concurrent requests to one host: each waits for a stream of a shared
                       connection instead of opening a connection */
    FETCH_PUSH_TOKEN,
    FETCH_PUSH_WEB,    /* like FETCH_PUSH_FCM, to push services of browsers */
    FETCH_INTEGRATION, /* third-party APIs that a user configures; connections are not reused */
};

/* The part of the memory budget that a large response (above 64 KB) holds. */
struct fetch_budget {
    struct share *share; /* NULL = holds nothing */
    uint64_t bytes;
};

struct fetch_header {
    struct str name;
    struct str value;
};

/* A request. All members are borrowed until fetch() returns. */
struct fetch_request {
    struct str method; /* GET HEAD POST PUT PATCH DELETE OPTIONS; empty = GET */
    struct str url;
    const struct fetch_header *headers; /* none for which fetch_header_is_reserved() is true */
    size_t nheaders;
    struct str body;
    int64_t timeout_ms;        /* for the whole call, including the wait for a slot; 0 = default */
    size_t max_response_bytes; /* limit of the body, as received and unpacked; 0 = default */
    enum fetch_purpose purpose;
    /* Where fetch() stores the part of the memory budget that the response holds. The caller zeroes
     * the struct before fetch(), and calls fetch_budget_release() after any result of fetch().
     * NULL: fetch() releases the part before it returns, for callers that use up the response at
     * once. */
    struct fetch_budget *budget;
    bool once; /* use a new connection, so that the request is never sent twice. Otherwise a request
                  on a pooled connection that turns out to be dead is repeated, and the server may
                  see both */
};

/* A response; owned by the task's arena. */
struct fetch_response {
    long status;
    struct fetch_header *headers; /* of the final response, names as received */
    size_t nheaders;
    struct str body; /* unpacked; followed by a NUL that body.len does not count */
    bool unreadable; /* the body cannot be unpacked and `body` is empty: an unsupported coding,
                        several codings, or malformed or truncated data */
    bool resent; /* this is the response to a repeated request: the server may have processed the
                    first request as well */
};

struct fetch_config {
    /* Each entry is "host", which allows private addresses on ports 80 and 443, or "host:port",
     * which allows private addresses on that port. The host is a name or an IP literal, IPv6 in
     * brackets. */
    const struct str *allow;
    size_t nallow;
    unsigned max_in_flight; /* concurrent requests; 0 = 256. One project may use half of them, the
                               next project half of the rest, and so on. Of each project about four
                               times max_in_flight requests may wait */
    /* Memory budget in bytes for responses above 64 KB while they arrive; 0 = 32 MB. Each response
     * counts twice, because its buffer grows by doubling. A project may not use up the budget: its
     * next large response is not read until enough is free, within the timeout of its request. Must
     * be at least four times the largest max_response_bytes. */
    uint64_t budget_bytes;
    const char *ca_file; /* PEM file of trusted root certificates; NULL = the system's */
};

/* loop: Starts the module; call it once, after loop_init(). Copies what it needs of `config`. */
void fetch_init(const struct fetch_config *config);
/* loop: Stops the module; call it before the loop ends. Running requests end with
 * FETCH_UNREACHABLE. */
void fetch_done(void);

/* co: Sends one request and waits for its response. Returns 0 with any HTTP status, a FETCH_*
 * result, -ECANCELED, or -ETIMEDOUT (the task's own deadline). */
AWAITS int fetch(struct task *task,
                 const struct fetch_request *request,
                 struct fetch_response *ret_response) MUSTCHECK;

/* loop: Releases the memory budget that a response holds. Idempotent. */
void fetch_budget_release(struct fetch_budget *budget);

/* any: Returns the value of the first response header of this name (ASCII case-insensitive),
 * STR_NONE when absent. Borrowed from the response. */
struct str fetch_response_header(const struct fetch_response *response, const char *name);
/* any: Returns whether the connection itself sets this request header (RFC 9110 sections 7.2,
 * 7.6.1, 8.6; ASCII case-insensitive). fetch() refuses such a header with FETCH_BAD_HEADER. */
bool fetch_header_is_reserved(struct str name);
/* any: Checks whether fetch() would accept this URL, without resolving its host. Returns 0,
 * FETCH_BAD_URL or FETCH_REFUSED. For checking URLs that a user stores for later. Call it after
 * fetch_init(). */
int fetch_url_check(struct str url) MUSTCHECK;
/* any: Returns whether fetch_config.allow permits private addresses for this URL. */
bool fetch_url_is_allowed(struct str url);

/* any: Returns in *ret_host (arena-owned) the host that fetch() would connect to, without port and
 * trailing dot, IPv6 in brackets. Returns 0 or FETCH_BAD_URL. */
int fetch_url_host(struct arena *arena, struct str url, struct str *ret_host) MUSTCHECK;

/* any: Percent-encodes the non-ASCII characters in the path and query of a URL (RFC 3987 section
 * 3.1) and leaves its host unchanged. Returns an arena-owned text, or `url` itself. */
struct str fetch_url_escape(struct arena *arena, struct str url);
/* any: Resolves `location`, from a response of `base`, to an absolute URL without fragment (RFC
 * 3986 section 5), and percent-encodes characters that a URL may not hold. Returns 0 with *ret_url
 * (arena-owned), FETCH_BAD_URL or FETCH_REFUSED. */
int fetch_url_join(struct arena *arena, struct str base, struct str location, struct str *ret_url)
    MUSTCHECK;

/* Returns the number of requests that hold a slot (metrics). */
unsigned fetch_in_flight(void);
