#pragma once
/*
 * A search in progress: the query, the entities and fields that are searched, the terms of the
 * lexicon that its words mean, and the hits that the index proposes. The index never decides: shown
 * records are read from the entities' tables under the same rules as lists (records/pick.h). All
 * memory is owned by the request's arena.
 *
 * The answer does not depend on words of records that the caller may not see. Only the posting
 * lists of readable fields are read, and where a row rule applies only records in the lists of the
 * caller's principals count. Whether typos are excused or words dropped is decided by these hits.
 */
#include "app.h"
#include "areas/search/search_settings.h"
#include "items/items.h"
#include "records/pick.h"
#include "search/highlight.h"
#include "search/rank.h"
#include "search/search_query.h"

enum {
    SEARCH_HITS = 1000,              /* hits that pages can show; the last page may be shorter */
    SEARCH_MIN_HITS = 20,            /* with fewer hits typos are excused, then words are dropped */
    SEARCH_WINDOW = 64,              /* first hits, whose texts decide the order among equals */
    SEARCH_CHECKED_HITS = 10000,     /* hits that a filter, sort order or phrase is applied to */
    SEARCH_CANDIDATES = 4096,        /* terms that a word may mean, before some are chosen */
    SEARCH_BYTES = 64 * 1024 * 1024, /* of posting lists, for one query */
    SEARCH_TRIES = 4,                /* the first uses cached indexes and settings */
    SEARCH_FACETS = 10,
    SEARCH_VALUES = 100, /* of one facet */
    SEARCH_MEMBERS = 256 /* members of the X-Group-Id group up to which their lists are read */
};

/* A field that the caller may search in. */
struct search_field {
    int64_t posting; /* number of the field in posting lists */
    unsigned rank;   /* 0 = the best of the fields that the caller may read */
    bool typos;      /* typos are excused */
    struct records_text text;
    bool is_guarded; /* a relation to records of which the caller may not see some: records that the
                        field's lists propose count only if they are in `seen_ids` */
    int64_t *seen_ids; /* ids of records, ascending */
    size_t seen_id_count;
};

/* A term of the lexicon that a word may mean. */
struct search_term {
    int32_t id;
    int64_t df; /* approximate number of records of the project that have it: the cost of reading */
    struct str text;
    enum rank_cost cost;
    bool is_fallback; /* added by search_add_fallbacks(), because there were too few hits */
};

struct search_terms {
    struct search_term *items;
    size_t count, cap;
};

/* A word of the query as terms. */
struct search_expansion {
    const struct search_word *word;
    size_t query_position;           /* position in the query */
    unsigned rank_position;          /* position in `words` or `excluded_words` of the plan */
    struct search_terms whole_terms; /* terms for the word as a whole */
    struct search_terms *part_terms; /* alternative terms for each of word->parts */
};

/* Terms that one statement looks up, and the list that each found term is added to. */
struct search_term_lookups {
    struct search_lookup {
        struct search_terms *target_terms;
        enum rank_cost cost;
    } * items;
    struct str *texts;
    size_t count, cap, text_cap;
};

struct search_plan;

/* An entity that is searched. */
struct search_target {
    const struct entity *entity;
    int64_t idx; /* id of its live index */
    struct search_field *fields;
    size_t field_count;
    bool has_row_rule; /* a row rule applies: by the lists of `principals`, or by `visible_ids` */
    struct str *principals;
    size_t principal_count;
    int64_t *visible_ids; /* ids that the caller may see, ascending; NULL = `principals` decide */
    size_t visible_id_count;
    struct search_terms principal_terms; /* the principals' terms */
    struct search_lists *lists;
    struct rank_result found;
    struct rank_result excluded; /* records to exclude, if the query has only words to exclude */
};

struct search_plan {
    struct req *r;
    struct records_ctx *ctx;
    struct search_settings settings;
    struct str version;  /* of the settings; ptr NULL = no settings are stored */
    bool is_cached;      /* indexes and settings are from the cache (search_cache.h) */
    struct str names;    /* requested entities; ptr NULL = all */
    int64_t *entity_ids; /* requested entities, including those without an index */
    size_t entity_count;
    bool is_plain;       /* one statement finds the terms and reads their lists (search_plain.c) */
    size_t prefix_limit; /* maximum number of terms for a prefix; 0 = LEXICON_PREFIXES */
    struct str text;     /* the query as typed; only set by search_suggest.c */
    struct search_query query;
    struct search_target *targets;
    size_t target_count;
    bool sees_all; /* the caller may read each row and field of each entity that is searched */
    size_t bytes;  /* of the leaves that were read */
    /* Number of requested entities; an entity without an index is no target. */
    size_t requested_count;
    struct search_expansion *words;  /* words that must or may match; phrases first */
    size_t word_count, phrase_count; /* phrase_count: phrases among them, which are never dropped */
    struct search_expansion *excluded_words;
    size_t excluded_word_count;
    bool is_forgiving;   /* there were too few hits: words also match as prefixes and with typos */
    bool may_drop_words; /* words may be dropped from the right */
    size_t limit;        /* maximum number of hits of each target */
    int64_t total;       /* hits of all targets, by the index */
    bool is_total_exact; /* `total` is exact */
};

/* --- search.c --- */

/* co: Begins a search by the caller, or with `public_only` a public search: finds targets and
 * settings as search_targets() does. Returns 0 or the status of the answer: 404 if public search is
 * off. The plan is arena-owned. */
AWAITS int
search_begin(struct req *r, bool public_only, struct str names, struct search_plan **ret_plan)
    MUSTCHECK;
/* co: Parses the query's text into plan->query; updates cached indexes and settings if the query is
 * not plain. Returns 0 or the status of the answer. */
AWAITS int search_parse_words(struct search_plan *plan, struct str text) MUSTCHECK;
/* any: Returns how long the request has taken, in milliseconds. */
int64_t search_took_ms(const struct req *r);
/* any: Answers 503 after an index was replaced in each of SEARCH_TRIES tries. Functions that read
 * lists return -ESTALE if their index was replaced; the caller then restarts the search. */
int search_fail_stale(struct req *r);

/* --- search_targets.c --- */

/* co: Sets the plan's targets and settings, from the cache if possible. `names` are entities
 * separated by commas, STR_NONE = all that the caller may search. Returns 0 or the status of the
 * answer: 400 for an entity that does not exist or that the caller may not search. */
AWAITS int search_targets(struct search_plan *plan, struct str names) MUSTCHECK;
/* co: Sets targets and settings again from the database if they are from the cache. Required before
 * words are expanded, unless search_run_plain() will verify the cache. */
AWAITS int search_targets_refresh(struct search_plan *plan) MUSTCHECK;
/* any: Returns whether the caller may search in a field of this name; `plan` is a struct
 * search_plan. Callback of search_query_parse(). */
bool search_is_field(const void *plan, struct str name);

/* --- search_terms.c --- */

enum {
    SEARCH_SHORT_PREFIX_LETTERS = 3 /* letters of a prefix that may have lexicon rows of its own */
};

/* co: Fills the plan's `words` and `excluded_words` from the query with exact terms, prefixes and
 * synonyms, and the targets' `principal_terms`. Returns 0, -ESTALE or a status. */
AWAITS int search_expand_words(struct search_plan *plan) MUSTCHECK;
/* any: Adds each found term to the lists of the lookups that have its text. */
void search_add_found(struct search_plan *plan,
                      const struct search_term_lookups *lookups,
                      const struct search_term *found,
                      size_t count);
/* co: Adds at most LEXICON_PREFIXES of the `count` found terms, which begin with a prefix, to
 * `terms`. search_choose_terms() chooses them. */
AWAITS int search_add_prefix_terms(struct search_plan *plan,
                                   struct search_terms *terms,
                                   const struct search_term *found,
                                   size_t count) MUSTCHECK;
/* any: Returns how many terms to query for a prefix. */
int64_t search_prefix_limit(const struct search_plan *plan);
/* co: Adds terms that begin with the words, terms with typos and, if there are no hits yet, words
 * without their trailing signs ("c" for "c++"). */
AWAITS int search_add_fallbacks(struct search_plan *plan) MUSTCHECK;
/* any: Returns whether search_add_fallbacks() may treat the word as a prefix. */
bool search_can_be_prefix(const struct search_expansion *word);
/* co: Adds terms that begin with `prefix`, except the prefix itself: at most LEXICON_PREFIXES. */
AWAITS int search_prefix(struct search_plan *plan,
                         struct str prefix,
                         struct search_terms *ret_terms) MUSTCHECK;

/* --- search_plain.c --- */

/* any: Returns whether one statement can read all lists for the parsed query: it has words to find,
 * at most one prefix, and row rules apply to all targets or to none. */
bool search_is_plain(const struct search_plan *plan);
/* co: Finds the terms of `lookups`, and the terms that begin with `prefix` (ptr NULL = no prefix),
 * which are added to `beginnings`. Reads the lists of all these terms too, unless the lists are too
 * long. Returns -ESTALE if the cached indexes or settings are outdated. */
AWAITS int search_run_plain(struct search_plan *plan,
                            const struct search_term_lookups *lookups,
                            struct str prefix,
                            struct search_terms *beginnings) MUSTCHECK;

/* --- search_lists.c, search_rank.c, search_window.c --- */

/* co: Reads the lists of the plan's words that were not read yet. */
AWAITS int search_read_target(struct search_plan *plan, struct search_target *target) MUSTCHECK;
/* co: Reads lists like search_read_target(), but very long lists only for the newest records. */
AWAITS int search_read_newest_lists(struct search_plan *plan, struct search_target *target)
    MUSTCHECK;
/* co: Reads and ranks: sets target->found. Reads very long lists first for the newest records, then
 * for more, until no older record can be a better hit. `least`: words that must match. */
AWAITS int search_read_and_rank(struct search_plan *plan,
                                struct search_target *target,
                                unsigned least) MUSTCHECK;
/* any: Returns the number of entries up to which lists are read whole for this search. */
int64_t search_whole_limit(const struct search_plan *plan);
/* co: Sets `seen_ids` of guarded fields: the records in a field's lists that the caller may find by
 * the field. */
AWAITS int search_fill_seen(struct search_plan *plan, struct search_target *target) MUSTCHECK;
/* co: Ranks the lists that were read: sets target->found. `least`: words that must match. */
AWAITS int search_rank_target(struct search_plan *plan,
                              struct search_target *target,
                              unsigned least) MUSTCHECK;
/* co: Adds to hits[i] how many records match the i-th term of the last word and all words before
 * it, in the lists that were read. At most RANK_COUNTED_GROUPS terms. */
AWAITS int search_count_completions(struct search_plan *plan,
                                    struct search_target *target,
                                    int64_t *hits) MUSTCHECK;
/* co: Adds to hits[i] how many records of all targets have the i-th term and may be found by the
 * caller, independently of the rest of the query. */
AWAITS int search_count_terms(struct search_plan *plan,
                              const struct search_term *terms,
                              size_t count,
                              int64_t *hits) MUSTCHECK;
/* co: For a search that has only words to exclude, sets target->excluded: the newest
 * SEARCH_CHECKED_HITS records that these words match. */
AWAITS int search_find_excluded(struct search_plan *plan, struct search_target *target) MUSTCHECK;

/* --- search_choose.c --- */

/* co: Keeps the first `kept_count` terms and at most `most` of the terms after them: the terms by
 * which the caller may find most records. Records that the caller may not see have no influence. */
AWAITS int search_choose_terms(struct search_plan *plan,
                               struct search_terms *terms,
                               size_t kept_count,
                               size_t most) MUSTCHECK;

/* --- search_admin.c --- */

/* co: Answers 503 because the index of a target (NULL: the lexicon) is malformed. Requests that the
 * target's index is built again. Returns the status. */
AWAITS int search_fail_malformed(struct search_plan *plan, const struct search_target *target);

/* --- search_find.c --- */

/* co: Expands, reads and ranks until there are SEARCH_MIN_HITS hits: first the words as typed, then
 * with typos and as prefixes, then fewer words. Keeps plan->limit hits of each target. */
AWAITS int search_find_hits(struct search_plan *plan) MUSTCHECK;
/* any: Returns the hit's score, 0 to 1; a better hit has a higher score. */
double search_score(const struct search_plan *plan, const struct rank_hit *hit);

/* --- search_show.c --- */

/* Parameters of a search other than its words. */
struct search_params {
    struct records_query records; /* filter, sort, fields, expand */
    int64_t page, page_size;
    int64_t first, end; /* the page among all hits; `end` is at most SEARCH_HITS */
    struct str facets;  /* fields separated by commas; ptr NULL = none */
    struct str text;    /* the query as typed */
};
/* co: Writes the answer. Returns the status. */
AWAITS int search_write_answer(struct search_plan *plan, const struct search_params *params)
    MUSTCHECK;
