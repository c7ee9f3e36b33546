#pragma once
/*
 * Cache of chart data. The key of an entry covers the definition and everything that decides which
 * rows the caller sees. The entry also holds the mark of its sources (records/series.h).
 *
 * An entry is used for a second without comparing its mark. After that it is used while its mark is
 * unchanged, for twenty times as long as the data took to compute, a minute at most. This limit
 * exists because marks may be some seconds late. When an entry with a lifetime of more than a
 * second has expired, one request computes the data again while the others still use the entry.
 *
 * `shares` (common/README.md) bounds the bytes to GROUNDWORK_CHARTS_CACHE_BYTES in each process,
 * half of them for one project. The least recently used entries make room, those of
 * the same project first.
 */
#include "app.h"
#include "crypto/digest.h"
#include "records/series.h"

struct chart_key {
    uint8_t bytes[DIGEST_SHA256_BYTES];
};

/* any: Returns a copy of cached data in the request's arena, or STR_NONE. With `mark` the entry
 * must have the same mark. Without `mark` (NULL) the entry must have been compared within the last
 * second. *ret_due is set when there is an entry: true means that the entry has expired and that
 * this request computes the data; other requests may get the entry for some seconds longer. */
struct str chart_cache_find(struct req *r,
                            const struct chart_key *key,
                            const struct series_mark *mark,
                            bool *ret_due);
/* any: Stores a copy of data that took `cost_ms` to compute, in place of the key's entry. Does
 * nothing when there is no space for the data. */
void chart_cache_put(struct req *r,
                     const struct chart_key *key,
                     const struct series_mark *mark,
                     struct str data,
                     int64_t cost_ms);
