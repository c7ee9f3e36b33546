#pragma once
/*
 * Signatures of requests to an S3-compatible store (AWS Signature Version 4). Pure functions,
 * callable from any thread.
 *
 * The signature covers Host, x-amz-content-sha256, x-amz-date and the headers of the request. The
 * query is sorted here, so that the same text is signed and sent.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define SIGV4_QUERY_MAX   8
#define SIGV4_HEADERS_MAX 4

struct sigv4_key {
    struct str id, secret, region;
};

struct sigv4_pair {
    struct str name, value; /* headers: name in lower case, value as it is sent */
};

struct sigv4_request {
    struct str method, host;
    struct str path;                          /* percent-encoded, with its first "/" */
    struct sigv4_pair query[SIGV4_QUERY_MAX]; /* not percent-encoded */
    size_t query_count;
    struct sigv4_pair headers[SIGV4_HEADERS_MAX]; /* without those that are always signed */
    size_t header_count;
    struct str payload_sha256; /* hexadecimal */
};

struct sigv4_signed {
    struct str target;        /* path and query as they must be sent */
    struct str date;          /* x-amz-date */
    struct str authorization; /* Authorization */
};

/* any: Signs a request at `now_ms` (milliseconds since 1970). *ret is arena-owned. */
void sigv4_sign(struct arena *arena,
                const struct sigv4_key *key,
                const struct sigv4_request *request,
                int64_t now_ms,
                struct sigv4_signed *ret);
