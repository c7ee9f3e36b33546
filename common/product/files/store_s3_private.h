#pragma once
/*
 * Requests of the store to a bucket (S3 or compatible): signing, repetition, and the elements that
 * we read from the answers. Results are those of store.h.
 */
#include "fetch/fetch_stream.h"
#include "files/sigv4_private.h"
#include "files/store_private.h"

#define S3_PART_BYTES ((int64_t)16 << 20) /* larger files are sent in parts of this size */
#define S3_TRIES      5
#define S3_XML_BYTES  ((size_t)2 << 20) /* enough for a list of 1,000 entries of maximal length */
#define S3_ETAG_BYTES 128

/* The body of a request: text in memory, or the first `bytes` bytes of a file. */
struct s3_body {
    struct str text;
    int fd; /* -1 = the text is the body */
    int64_t bytes;
    struct str sha256; /* of the body, hexadecimal */
};

struct s3_call {
    struct task *task;
    const char *method;
    struct str key; /* in the bucket; empty: the bucket itself */
    struct sigv4_pair query[SIGV4_QUERY_MAX];
    size_t query_count;
    struct sigv4_pair headers[SIGV4_HEADERS_MAX]; /* names in lower case */
    size_t header_count;
    const struct s3_body *body; /* NULL = none */
    bool has_hidden_errors;     /* the body of a 200 may be an error */
    /* The answer. */
    struct fetch_stream *stream;
    const struct fetch_response *head;
    struct str text;
    unsigned tries; /* above 1 the store may have executed a try that seemed to fail */
};

/* --- store_s3_call.c --- */

void s3_configure(const struct store_s3 *own);
const struct store_s3 *s3_config(void);
/* any: s3_key() returns the object key of a file in the bucket, s3_project_prefix() the common
 * prefix of a project's object keys. Arena-owned. */
struct str s3_key(struct arena *arena, const struct file_key *key);
struct str s3_project_prefix(struct arena *arena, int64_t project);
/* any: Adds a query parameter. */
void s3_query(struct s3_call *call, const char *name, struct str value);

/* co: Sends a request, up to S3_TRIES times while the failure may be temporary. Returns 0 with
 * `text`, the answer's body; FILES_MISSING (404), FILES_FULL, or FILES_UNAVAILABLE, whose reason is
 * in the log. */
AWAITS int s3_call(struct s3_call *call) MUSTCHECK;
/* co: Same as s3_call() for an answer that is streamed: returns 0 with `stream` open, at the
 * beginning of the body. */
AWAITS int s3_call_open(struct s3_call *call) MUSTCHECK;
/* co: Sends one request, once, to check the bucket at the start. Returns 0, a negative, or
 * FILES_UNAVAILABLE with the reason (arena-owned) and whether the failure may be temporary. */
AWAITS int s3_bucket_check(struct task *task, struct str *ret_reason, bool *ret_passing) MUSTCHECK;
/* any: Returns a header of the answer; STR_NONE if it is absent. */
struct str s3_header(const struct s3_call *call, const char *name);

/* --- store_s3_xml.c; pure --- */

/* Cuts the text of the next element with that name off *rest. Elements with attributes are not
 * found, and nothing is unescaped. Borrowed. Returns false when there is no such element. */
bool s3_xml_next(struct str *rest, const char *name, struct str *ret_text);
/* Returns the text of the first element with that name; STR_NONE when there is none. */
struct str s3_xml_text(struct str xml, const char *name);
/* Returns whether a text needs no escaping. Texts of the store's answers that are sent to the store
 * again must be plain. */
bool s3_is_plain(struct str text);

/* --- store_s3_list.c --- */

/* co: Removes all objects under a prefix. */
AWAITS int s3_remove_objects(struct task *task, struct str prefix) MUSTCHECK;
/* co: Aborts the unfinished multipart uploads under a prefix. */
AWAITS int s3_abort_uploads(struct task *task, struct str prefix) MUSTCHECK;
