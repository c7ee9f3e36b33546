#pragma once
/* The search settings of a project. */
#include "app.h"

/* A group of words that find each other, folded as in the index. */
struct search_synonyms {
    struct str *words;
    size_t count;
};

struct search_settings {
    bool is_public;              /* GET /search/public is enabled */
    bool typos;                  /* typos are excused, except in exact_fields */
    const int64_t *exact_fields; /* ids of fields */
    size_t exact_field_count;
    struct search_synonyms *synonyms;
    size_t synonym_count;
    struct str *stop_words;
    size_t stop_word_count;
};

/* any: Reads the stored document; sets the defaults if its ptr is NULL. Arena-owned. */
void search_settings_read(struct arena *arena,
                          struct str doc,
                          struct search_settings *ret_settings);
