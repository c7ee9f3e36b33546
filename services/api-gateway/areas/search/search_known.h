#pragma once
/*
 * What a process remembers of projects, so that a search need not ask for it first: their live
 * indexes, and their settings of search. It may be old: who goes by it asks in the same statement
 * that reads the lists whether it is so still (search_plain.c). One slot a project, by its number;
 * another project there makes way.
 */
#include "app.h"

/* An index that answers: field n of its lists is field_ids[n], from 1. */
struct search_index {
    int64_t id, entity_id;
    struct sql_i64s field_ids;
};

struct search_known {
    struct str version; /* of the settings; without ptr: none are stored */
    struct str doc;
    struct search_index *indexes;
    size_t count;
};

/* any: arena-owned; false when nothing is remembered. */
bool search_known_get(struct arena *arena, int64_t project, struct search_known *ret_known);
/* any: copies it, unless it is large. */
void search_known_put(int64_t project, const struct search_known *known);
void search_known_drop(int64_t project);
