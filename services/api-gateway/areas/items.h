#pragma once
/* What the item areas share: a record engine for this request, its answers, ETags, the list parameters. */
#include "app.h"
#include "records/records.h"

extern const struct query_param items_list_query[];
extern const struct query_param items_one_query[];
extern const struct schema record_schema; /* any record: documented per entity by the data model document */

/* The engine with the request's project, model, rights and lock token; arena-owned. */
struct records *items_engine(struct req *r);
/* A result of records.h as an answer: 0, a negative, or the status that was put. */
int items_check(struct req *r, const struct records *engine, int rc) MUSTCHECK;
/* Strong ETag of a record: "<version>-<hash of the representation>". */
void items_etag(struct req *r, int64_t version, struct str body);
/* If-Match -> the version it names; 0 when absent or '*'. 412 for anything that is no ETag of ours. */
int items_if_match(struct req *r, int64_t *ret_version) MUSTCHECK;
/* True when If-None-Match names the ETag that items_etag() has set: 304 was put. */
bool items_not_modified(struct req *r, int64_t version, struct str body);
