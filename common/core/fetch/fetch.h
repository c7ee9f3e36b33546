#pragma once
/*
 * Outbound HTTP behind one awaitable call: libcurl's multi interface, and nghttp2 for many small
 * requests to one host. The only way out of a process.
 *
 * http and https only. The name is resolved once and every address must be public; the address that
 * is dialled is checked again, on kept connections too. No redirects, proxies, netrc, cookies or
 * credentials in URLs. Ports 80 and 443, unless the operator allows host:port. HTTP/2 where
 * offered.
 *
 * Answers that come packed (gzip, deflate) are unpacked as they arrive; their limit is on what they
 * hold, and on what came.
 *
 * Of the answers to FETCH_PUSH_FCM and FETCH_PUSH_WEB with at most 64 KB callers may see the
 * status, the body and of the headers `retry-after` alone.
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

/* Callers that answer to a user must give FETCH_REFUSED, FETCH_UNREACHABLE and FETCH_TIMEOUT one
 * and the same text, or they become a port scanner. */

/* What a request is for: a project's purposes do not wait for one another. */
enum fetch_purpose {
    FETCH_ANYTHING, /* of a job: bounded by project alone */
    FETCH_IDENTITY, /* a project's issuer; its connections are not kept */
    FETCH_PROCESSOR,
    FETCH_STORE,
    FETCH_PUSH_FCM, /* many at once to one host: they wait for a stream of a connection, not each
                       for a connection of its own */
    FETCH_PUSH_TOKEN,
    FETCH_PUSH_WEB,    /* the same, to few hosts */
    FETCH_INTEGRATION, /* other people's APIs, at a user's wish; connections are not kept */
};

/* Memory that a large answer holds beside others that arrive (fetch_room.h). */
struct fetch_room {
    struct share *share; /* NULL: none */
    uint64_t bytes;
};

struct fetch_header {
    struct str name;
    struct str value;
};

/* All borrowed until fetch() returns. */
struct fetch_request {
    struct str method; /* GET HEAD POST PUT PATCH DELETE OPTIONS; empty = GET */
    struct str url;
    const struct fetch_header *headers; /* not Host, Content-Length and others of framing */
    size_t nheaders;
    struct str body;
    int64_t timeout_ms;        /* whole call including waiting for a slot; 0 = default */
    size_t max_response_bytes; /* of the body, unpacked; 0 = default */
    enum fetch_purpose purpose;
    /* Where the caller keeps the answer's room, to give it back with fetch_room_leave(), whatever
     * fetch() returns; NULL: it ends with fetch(), for those who use the answer up at once. */
    struct fetch_room *room;
    bool once; /* never send twice: without it, a kept connection that turns out dead is replaced
                  and the request repeated, which the peer may see as two */
};

/* Owned by the task's arena. */
struct fetch_response {
    long status;
    struct fetch_header *headers; /* of the final response, names as received */
    size_t nheaders;
    struct str body; /* unpacked; NUL-terminated as well, the NUL not counted */
    bool unreadable; /* it has a body that cannot be unpacked, and none is here: another content
                        coding, several, or one that is broken or not whole */
    bool resent;     /* this answers its repetition: the peer may have acted on the first already */
};

struct fetch_config {
    /* "host": private addresses allowed on ports 80 and 443; "host:port": allowed on that port. The
     * host is a name or an IP literal, IPv6 in brackets. */
    const struct str *allow;
    size_t nallow;
    unsigned max_in_flight; /* at once; 0 = 256. Of one project half at most, the next one's half of
                               what is left; four times as many of each may wait for a slot */
    /* Bytes that answers above 64 KB hold while they arrive, counted twice (they grow by doubling);
     * 0 = 32 MB. A project leaves room for others; its next one waits within its own time, unread.
     * At least four times the largest max_response_bytes. */
    uint64_t max_arriving_bytes;
    const char *ca_file; /* PEM of trusted roots; NULL = the system's */
};

/* loop: once, after loop_init(). Copies what it needs. */
void fetch_init(const struct fetch_config *config);
/* loop: before the loop ends. Requests still running end with FETCH_UNREACHABLE. */
void fetch_done(void);

/* co: one request. 0 with any HTTP status, a FETCH_*, -ECANCELED, or -ETIMEDOUT (the
 * task's own deadline). */
AWAITS int fetch(struct task *task,
                 const struct fetch_request *request,
                 struct fetch_response *ret_response) MUSTCHECK;

/* loop: idempotent. */
void fetch_room_leave(struct fetch_room *room);

/* any: a response header by name, ASCII case-insensitive; the first one, STR_NONE when absent. */
struct str fetch_response_header(const struct fetch_response *response, const char *name);
/* any: is it a request header that the connection itself sets (RFC 9110 sections 7.2, 7.6.1, 8.6)?
 * fetch() answers one with FETCH_BAD_HEADER. ASCII case-insensitive. */
bool fetch_sets_header(struct str name);
/* any: would fetch() accept this URL, name resolution aside? 0, FETCH_BAD_URL or FETCH_REFUSED. For
 * checking addresses that a user stores for later. After fetch_init(). */
int fetch_url_check(struct str url) MUSTCHECK;
/* any: does fetch_config.allow name the URL's host? */
bool fetch_url_allowed(struct str url);

/* any: the host that fetch() would ask, without port and trailing dot; IPv6 in brackets. 0 or
 * FETCH_BAD_URL. */
int fetch_url_host(struct arena *arena, struct str url, struct str *ret_host) MUSTCHECK;

/* any: a URL whose path and query are ASCII: other characters are percent-encoded (RFC 3987, 3.1);
 * its host stays as it is. Arena-owned, or `url` itself. */
struct str fetch_url_escape(struct arena *arena, struct str url);
/* any: where `location`, of an answer from `base`, leads (RFC 3986, 5), without a fragment; what a
 * URL may not hold is percent-encoded. 0 with *ret_url, arena-owned; FETCH_BAD_URL, FETCH_REFUSED.
 */
int fetch_url_join(struct arena *arena, struct str base, struct str location, struct str *ret_url)
    MUSTCHECK;

/* Requests running now (metrics). */
unsigned fetch_in_flight(void);
