#pragma once
/* What the item areas share: the context of records, its answers, ETags, the list parameters. */
#include "app.h"
#include "areas/items/items_query.h"

#define RECORD_BYTES_DOC                                                                           \
    "A record is at most as large as GROUNDWORK_RECORD_BYTES says, as it is stored (8 MB when "    \
    "not set); "                                                                                   \
    "a write that would make it larger is refused with too_long."

extern const struct query_param items_list_query[];
extern const struct query_param items_one_query[];
extern const struct schema
    record_schema; /* any record: documented per entity by the data model document */

/* records_ctx with the request's project, model, rights and lock token; arena-owned. */
struct records_ctx *items_ctx(struct req *r);
/* The URL as a query of records. */
int items_query(struct req *r, struct records_ctx *ctx, struct records_query *ret_query) MUSTCHECK;
/* A result of records.h as an answer: 0, a negative, or the status that was put. */
int items_check(struct req *r, const struct records_ctx *ctx, int rc) MUSTCHECK;
/* co: strong ETag of the record in r->body: "<version>-<hash of the representation>". */
AWAITS int items_etag(struct req *r, int64_t version) MUSTCHECK;

/* Versions that If-Match allows a write to meet. */
enum { ITEMS_MATCH_MAX = 8 };
struct items_match {
    int64_t versions[ITEMS_MATCH_MAX];
    size_t count; /* 0 = any version */
    size_t at;
};
/* Reads If-Match: absent or '*' allows any version. Tags that are not ours, and weak ones (RFC 9110
 * section 13.1.1), match nothing; 412 when none is left, 400 for more than ITEMS_MATCH_MAX. */
int items_if_match(struct req *r, struct items_match *ret_match) MUSTCHECK;
/* The version to write with now; 0 = any. */
int64_t items_match_version(const struct items_match *match);
/* True when `rc` was a stale version and another one is allowed: try again. */
bool items_match_next(struct items_match *match, struct records_ctx *ctx, int rc);

/* co: items_etag(); 304 when If-None-Match names it, then that was put. */
AWAITS int items_etag_or_304(struct req *r, int64_t version) MUSTCHECK;
