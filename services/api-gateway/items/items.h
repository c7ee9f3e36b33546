#pragma once
/* Shared by the item areas: the context of records, results as responses, ETags, list
 * parameters. */
#include "app.h"
#include "items/items_query.h"

#define RECORD_BYTES_DOC                                                                           \
    "A stored record has at most GROUNDWORK_RECORD_BYTES bytes (8 MB when not set). "              \
    "A write that would make the record larger is refused "                                        \
    "with too_long."

extern const struct query_param items_list_query[];
extern const struct query_param items_one_query[];
extern const struct schema
    record_schema; /* any record; the data model document describes the members of each entity */

/* any: Returns a records_ctx with the request's project, model, rights and lock token.
 * Arena-owned. */
struct records_ctx *items_ctx(struct req *r);
/* any: Reads the request's query parameters as a query of records. Returns 0, a negative, or the
 * HTTP status of the error response that was set. */
int items_query(struct req *r, struct records_ctx *ctx, struct records_query *ret_query) MUSTCHECK;
/* any: Turns a result of records.h into a response. Returns 0 for success, a negative, or the HTTP
 * status of the error response that was set. */
int items_reply_error(struct req *r, const struct records_ctx *ctx, int rc) MUSTCHECK;
/* co: Sets the strong ETag of the record in r->body: "<version>-<hash of the representation>". */
AWAITS int items_etag(struct req *r, int64_t version) MUSTCHECK;

/* The record versions that If-Match accepts. */
enum { ITEMS_MATCH_MAX = 8 };
struct items_match {
    int64_t versions[ITEMS_MATCH_MAX];
    size_t count;   /* 0 = any version is accepted */
    size_t current; /* index of the version to write with now */
};
/* any: Reads If-Match. An absent header or '*' accepts any version. Tags that this service did not
 * make, and weak tags (RFC 9110 section 13.1.1), match nothing. Responds 412 when no tag is left,
 * and 400 for more than ITEMS_MATCH_MAX tags. */
int items_if_match(struct req *r, struct items_match *ret_match) MUSTCHECK;
/* any: Returns the version to write with now; 0 = any version. */
int64_t items_match_version(const struct items_match *match);
/* any: Returns true when `rc` says that the version is stale and If-Match accepts a further
 * version: the calling function then repeats the write with that version. */
bool items_match_next(struct items_match *match, struct records_ctx *ctx, int rc);

/* co: Sets the ETag as items_etag() does. Responds 304, and returns 304, when If-None-Match names
 * the ETag. */
AWAITS int items_etag_or_304(struct req *r, int64_t version) MUSTCHECK;
