#pragma once
/*
 * Data of charts as they were a moment ago. Kept by definition, by what decides which rows the
 * caller sees, and by the mark of their sources (records/series.h). Data are good for a second;
 * then, while their mark stays, for twenty times as long as it took to compute them, because marks
 * may be some seconds late; for a minute at most; one exchanges them while others go on. Bounded in
 * bytes by `shares` (common/README.md); those that nobody has asked for longest make room, of the
 * own project first.
 */
#include "app.h"
#include "crypto/digest.h"
#include "records/series.h"

struct chart_key {
    uint8_t bytes[DIGEST_SHA256_BYTES];
};

/* any: at most so many bytes in this process; half of them one project's. */
void chart_cache_start(uint64_t bytes);
/* any: at the process's end. */
void chart_cache_stop(void);

/* any: data that need not be compared with a mark, or that had this one; copied into the request's
 * arena. STR_NONE: there are none. *ret_due: they were good for long enough, and this one computes
 * them; others are given them for a moment longer. */
struct str chart_cache_find(struct req *r,
                            const struct chart_key *key,
                            const struct series_mark *mark,
                            bool *ret_due);
/* any: keeps a copy of what it took `cost_ms` to compute, if there is room for it. */
void chart_cache_keep(struct req *r,
                      const struct chart_key *key,
                      const struct series_mark *mark,
                      struct str data,
                      int64_t cost_ms);
