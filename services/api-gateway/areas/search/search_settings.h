#pragma once
/* Settings of a project's search: what they are, and as searches read them. */
#include "app.h"

/* A group of words that find each other; folded as the index folds. */
struct search_synonyms {
    struct str *words;
    size_t count;
};

struct search_settings {
    bool is_public; /* GET /search/public answers */
    bool typos;     /* typos are excused at all */
    const int64_t *exact_fields;
    size_t exact_field_count; /* in these they are not */
    struct search_synonyms *synonyms;
    size_t synonym_count;
    struct str *stop_words;
    size_t stop_word_count;
};

/* any: what is stored, or the defaults for a document without ptr; arena-owned. */
void search_settings_read(struct arena *arena,
                          struct str doc,
                          struct search_settings *ret_settings);
