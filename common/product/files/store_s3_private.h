#pragma once
/*
 * The store in a bucket (S3 and what is compatible): its requests, signed and repeated, and the
 * little that is read of its answers. Results are the store's (store.h).
 */
#include "fetch/fetch_stream.h"
#include "files/sigv4_private.h"
#include "files/store_private.h"

#define S3_PART_BYTES ((int64_t)16 << 20) /* a file above it is sent in parts of it */
#define S3_TRIES      5
#define S3_XML_BYTES  ((size_t)2 << 20) /* 1,000 entries of a list at their longest */
#define S3_ETAG_BYTES 128

/* What is sent: text in memory, or the beginning of a file. */
struct s3_body {
    struct str text;
    int fd; /* -1: the text */
    int64_t bytes;
    struct str sha256; /* of it, hexadecimal */
};

struct s3_call {
    struct task *task;
    const char *method;
    struct str key; /* in the bucket; empty: the bucket itself */
    struct sigv4_pair query[SIGV4_QUERY_MAX];
    size_t query_count;
    struct sigv4_pair headers[SIGV4_HEADERS_MAX]; /* names in lower case */
    size_t header_count;
    const struct s3_body *body; /* NULL: none */
    bool errors_hide;           /* an answer of 200 may be an error */
    /* The answer. */
    struct fetch_stream *stream;
    const struct fetch_response *head;
    struct str text;
    unsigned tries; /* that it took: above 1 the store may have acted on one that failed */
};

/* --- store_s3_call.c --- */

void s3_configure(const struct store_s3 *own);
const struct store_s3 *s3_config(void);
/* any: arena-owned: where bytes, or those of a whole project, lie in the bucket. */
struct str s3_key(struct arena *arena, const struct file_key *key);
struct str s3_project_prefix(struct arena *arena, int64_t project);
void s3_query(struct s3_call *call, const char *name, struct str value);

/* co: repeated while that may help: 0 with `text`, the answer's body; FILES_GONE (404), FILES_FULL
 * or FILES_AWAY, of which the log says why. */
AWAITS int s3_call(struct s3_call *call) MUSTCHECK;
/* co: the same for an answer that is streamed: 0 with `stream` open behind its head. */
AWAITS int s3_call_open(struct s3_call *call) MUSTCHECK;
/* co: once; for the start: 0, or what is wrong (arena-owned), with whether it may pass by itself.
 */
AWAITS int s3_try(struct task *task, struct str *ret_reason, bool *ret_passing) MUSTCHECK;
/* any: a header of the answer; "" is STR_NONE. */
struct str s3_header(const struct s3_call *call, const char *name);

/* --- store_s3_xml.c; pure --- */

/* Cuts the text of the next element of that name, which has no attributes, off *rest; false when
 * there is none. Borrowed; nothing is unescaped. */
bool s3_xml_next(struct str *rest, const char *name, struct str *ret_text);
/* Of the first one; STR_NONE. */
struct str s3_xml_text(struct str xml, const char *name);
/* Is it a text that needs no escaping? All that is sent back to the store is such. */
bool s3_is_plain(struct str text);

/* --- store_s3_list.c --- */

/* co: what lies under a prefix is removed. */
AWAITS int s3_remove_objects(struct task *task, struct str prefix) MUSTCHECK;
/* co: uploads in parts that were begun under a prefix and not ended. */
AWAITS int s3_abort_uploads(struct task *task, struct str prefix) MUSTCHECK;
