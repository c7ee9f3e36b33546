#pragma once
/*
 * A search on its way: what is asked, where it is looked for, by which terms of the lexicon, and
 * what the index proposes. The index never decides: what is shown comes from the entities' tables,
 * under the rules of lists (records/pick.h). Everything is the request's arena's.
 *
 * What depends on the words of records that the caller may not see: nothing. Only lists of readable
 * fields are read, under the lists of the caller's principals where a row rule applies, and whether
 * typos are excused or words left out is decided by what is left of them.
 */
#include "app.h"
#include "areas/items/items.h"
#include "areas/search/search_settings.h"
#include "records/pick.h"
#include "search/highlight.h"
#include "search/rank.h"
#include "search/search_query.h"

enum {
    SEARCH_HITS = 1000,       /* what pages lead to: the last one may be shorter */
    SEARCH_ENOUGH = 20,       /* fewer hits than these: typos are excused, then words left out */
    SEARCH_WINDOW = 64,       /* the first hits, ordered by their text among equals */
    SEARCH_LOOKS = 10000,     /* hits that a filter, an order or a phrase is asked for */
    SEARCH_CANDIDATES = 4096, /* terms that a word may stand for, before some are chosen */
    SEARCH_BYTES = 64 * 1024 * 1024, /* of lists, for one query */
    SEARCH_TRIES = 4,                /* the first of them by what is remembered */
    SEARCH_FACETS = 10,
    SEARCH_VALUES = 100, /* of one facet */
    SEARCH_MEMBERS = 256 /* of the group that X-Group-Id names, whose lists are read */
};

/* A field that the caller may search in. */
struct search_field {
    int64_t posting; /* its number in the lists */
    unsigned rank;   /* 0 = the best, of those that the caller may read */
    bool typos;      /* excused */
    struct records_text text;
    bool guarded;  /* a relation some of whose other ends the caller may not see: what the lists
                      propose there counts only if it is among `seen` */
    int64_t *seen; /* ascending */
    size_t seen_count;
};

/* A term of the lexicon that a word stands for. */
struct search_term {
    int32_t id;
    int64_t df; /* about as many records have it, of the whole project: what reading it costs */
    struct str text;
    enum rank_cost cost;
    bool late; /* it was added when there was not enough without it */
};

struct search_terms {
    struct search_term *items;
    size_t count, cap;
};

/* A word of the query as terms. */
struct search_expansion {
    const struct search_word *word;
    size_t at;       /* its place in the query */
    unsigned number; /* its place among those that rank */
    struct search_terms whole;
    struct search_terms *parts; /* of word->parts: alternatives of each */
};

/* Terms that are looked up at once, and where each goes. */
struct search_lookups {
    struct search_lookup {
        struct search_terms *to;
        enum rank_cost cost;
    } * items;
    struct str *texts;
    size_t count, cap, text_cap;
};

struct search_plan;

/* An entity that is searched. */
struct search_target {
    const struct entity *entity;
    int64_t idx; /* of its live index */
    struct search_field *fields;
    size_t field_count;
    bool ruled; /* by the lists of `principals`, or by `visible` */
    struct str *principals;
    size_t principal_count;
    int64_t *visible; /* NULL = `principals`; ascending */
    size_t visible_count;
    struct search_terms rule; /* the principals' terms */
    struct search_lists *lists;
    struct rank_result found;
    struct rank_result left_out; /* by words to leave out, of a search without others */
};

struct search_plan {
    struct req *r;
    struct records_ctx *ctx;
    struct search_settings settings;
    struct str version;  /* of the settings; without ptr: none are stored */
    bool remembered;     /* indexes and settings are those of an earlier search */
    struct str names;    /* entities that were asked for; without ptr: all */
    int64_t *entity_ids; /* that were asked for, with those that have no index */
    size_t entity_count;
    bool plain;        /* one statement finds its terms and reads their lists (search_plain.c) */
    size_t beginnings; /* that a prefix stands for at most; 0 = LEXICON_PREFIXES */
    struct str text;   /* the query as it was written */
    struct search_query query;
    struct search_target *targets;
    size_t target_count;
    bool sees_all; /* the caller may read each row and field of each entity that is searched */
    size_t bytes;  /* of leaves that were read */
    size_t named;  /* entities that were asked for; those without an index are no targets */
    struct search_expansion *words; /* those that must or may match, needed ones first */
    size_t word_count, needed;      /* needed: phrases */
    struct search_expansion *without;
    size_t without_count;
    bool forgiving; /* there was not enough: all words may go on, and be mistyped */
    bool fewer;     /* words may be left out from the right */
    size_t limit;   /* hits that are wanted of each target */
    int64_t total;  /* of all targets, by the index */
    bool complete;  /* which is exact */
};

/* --- search.c --- */

/* co: a search of the caller's, or the public's, in these entities (as search_targets()). */
AWAITS int
search_begin(struct req *r, bool public_only, struct str names, struct search_plan **ret_plan)
    MUSTCHECK;
/* co: the query's words. */
AWAITS int search_words(struct search_plan *plan, struct str text) MUSTCHECK;
int64_t search_took_ms(const struct req *r);
/* any: the answer when an index was exchanged in each of SEARCH_TRIES tries. What reads lists
 * returns -ESTALE when it was: the search begins anew. */
int search_stale(struct req *r);

/* --- search_targets.c --- */

/* co: the targets and settings: `names` are entities with commas between, STR_NONE = all that the
 * caller may search. Refuses a name that there is not for the caller. */
AWAITS int search_targets(struct search_plan *plan, struct str names) MUSTCHECK;
/* co: the same by what is there now, if it was by what is remembered: for who does not have it
 * compared by search_plain(). Before words are expanded. */
AWAITS int search_targets_anew(struct search_plan *plan) MUSTCHECK;
/* any: whether a word may name a field of this name, for search_query_parse(). */
bool search_is_field(const void *plan, struct str name);

/* --- search_terms.c --- */

enum { SEARCH_STAR_LETTERS = 3 /* the commonest of what begins with so few may stand together */ };

/* co: fills words and without from the query: exact terms, prefixes, synonyms; and the terms of
 * rules. */
AWAITS int search_expand(struct search_plan *plan) MUSTCHECK;
/* any: what was found goes to where it was looked up for. */
void search_add_found(struct search_plan *plan,
                      const struct search_lookups *lookups,
                      const struct search_term *found,
                      size_t count);
/* co: adds the terms that a prefix stands for, of those that begin so: as many as may be. */
AWAITS int search_add_beginnings(struct search_plan *plan,
                                 struct search_terms *terms,
                                 const struct search_term *found,
                                 size_t count) MUSTCHECK;
/* any: how many terms are asked for that begin with something. */
int64_t search_beginnings(const struct search_plan *plan);
/* co: adds what all words may go on as, terms with typos and, while nothing is found, words without
 * the signs behind them. */
AWAITS int search_forgive(struct search_plan *plan) MUSTCHECK;
/* any: whether a word that is not the last may be the beginning of another. */
bool search_may_go_on(const struct search_expansion *word);
/* co: terms that begin with a text, the text itself apart: the 64 that search_choose() chooses. */
AWAITS int search_prefix(struct search_plan *plan,
                         struct str prefix,
                         struct search_terms *ret_terms) MUSTCHECK;

/* --- search_plain.c --- */

/* any: whether the query, as it was parsed, is one of those that one statement reads all lists for:
 * with words, no more than one of which goes on, where all targets are under row rules or none. */
bool search_is_plain(const struct search_plan *plan);
/* co: the terms of lookups and of a prefix (without ptr: there is none), and their lists, if those
 * are few enough. -ESTALE: what was remembered of indexes and settings is not so any more. */
AWAITS int search_plain(struct search_plan *plan,
                        const struct search_lookups *lookups,
                        struct str prefix,
                        struct search_terms *beginnings) MUSTCHECK;

/* --- search_lists.c, search_rank.c, search_window.c --- */

/* co: reads the lists that the words need and are not there yet. */
AWAITS int search_read(struct search_plan *plan, struct search_target *target) MUSTCHECK;
/* co: the same, of very long lists for the newest records alone. */
AWAITS int search_read_newest(struct search_plan *plan, struct search_target *target) MUSTCHECK;
/* co: reads, and finds: target->found. Of very long lists first for the newest records, then for
 * more until nothing older can be better. */
AWAITS int search_look(struct search_plan *plan, struct search_target *target, unsigned least)
    MUSTCHECK;
/* any: how many entries are read whole for this search. */
int64_t search_whole(const struct search_plan *plan);
/* co: of what the lists of guarded fields propose, what the caller may find by them. */
AWAITS int search_guard(struct search_plan *plan, struct search_target *target) MUSTCHECK;
/* co: finds in what was read: target->found. */
AWAITS int search_rank(struct search_plan *plan, struct search_target *target, unsigned least)
    MUSTCHECK;
/* co: of what was read, adds to hits[i] how many match the i-th term of the last word and all words
 * before it. At most RANK_GROUPS terms. */
AWAITS int search_tally(struct search_plan *plan, struct search_target *target, int64_t *hits)
    MUSTCHECK;
/* co: hits[i] += how many records with the i-th of some terms the caller may find, in each target;
 * whatever else the query asks for. */
AWAITS int
search_count(struct search_plan *plan, const struct search_term *terms, size_t count, int64_t *hits)
    MUSTCHECK;
/* co: fills target->left_out for a search without words: the newest SEARCH_LOOKS. */
AWAITS int search_leave_out(struct search_plan *plan, struct search_target *target) MUSTCHECK;

/* --- search_choose.c --- */

/* co: of the terms behind the first `kept` no more than `most`: those that the caller may find most
 * records by. Which terms other records have makes no difference. */
AWAITS int
search_choose(struct search_plan *plan, struct search_terms *terms, size_t kept, size_t most)
    MUSTCHECK;

/* --- search_admin.c --- */

/* co: refuses the search because what it read of the index of a target (NULL: of the lexicon) is
 * none, and has it built again. */
AWAITS int search_broken(struct search_plan *plan, const struct search_target *target);

/* --- search_find.c --- */

/* co: expands, reads and ranks until there is enough, for plan->limit hits of each target. */
AWAITS int search_find(struct search_plan *plan) MUSTCHECK;
/* any: a hit's score, 0 to 1, in the order of hits. */
double search_score(const struct search_plan *plan, const struct rank_hit *hit);

/* --- search_show.c --- */

/* What a search asks for besides words. */
struct search_ask {
    struct records_query records; /* filter, sort, fields, expand */
    int64_t page, page_size;
    int64_t first, end; /* the page among all hits, which end with SEARCH_HITS */
    struct str facets;
    struct str text; /* the query as it was written */
};
/* co: the answer to r->body. */
AWAITS int search_show(struct search_plan *plan, const struct search_ask *ask) MUSTCHECK;
