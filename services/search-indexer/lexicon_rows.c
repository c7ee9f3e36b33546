/*
 * Rows of the lexicon: changed with each batch (lexicon_rows_calls()), corrected when words have
 * been counted again (lexicon_rows_tidy()), and made from all words (lexicon_rows_prefixes()). Each
 * function loads rows into a struct lexicon_edit, changes the rows in memory, and adds statements
 * for the rows that differ.
 *
 * A key has several rows, its parts, because a row is at most LEXICON_BYTES long. New words go into
 * the last part.
 */
#include "lexicon_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "lexicon_rows_sql.h"
#include "loop/work.h"
#include "search/lexicon.h"
#include "words.h"

#define PREFIX_LETTERS   3 /* longer prefixes have few words, which can be read */
#define LAST_CHARACTER   "\xf4\x8f\xbf\xbf"
#define PREFIXES_AT_ONCE 200  /* a batch that changes more words does not change prefix rows */
#define WORDS_AT_ONCE    2000 /* read by one statement, in their order */
#define ROWS_AT_ONCE     1000 /* written by one statement */
#define ROW_LEAST        7    /* bytes of a word in a row, at least */

enum { ROW_KEY_BYTES = LEXICON_KEY_BYTES + 24 };

/* A row as it will be written. */
struct lexicon_row {
    struct str key;
    int64_t part;
    struct str data;
    bool dirty;
};

struct lexicon_edit {
    struct arena *arena;
    struct lexicon_row **rows;
    size_t count, cap;
    struct map *by_row_key; /* "key part" -> row */
    struct map *last;       /* key -> its row with the highest part */
};

static void lexicon_edit_free(void *arg)
{
    struct lexicon_edit *edit = arg;

    map_free(edit->by_row_key);
    map_free(edit->last);
}

static struct lexicon_edit *lexicon_edit_new(struct arena *arena)
{
    struct lexicon_edit *edit = ARENA_NEW(arena, edit);

    *edit = (struct lexicon_edit){.arena = arena, .by_row_key = map_new(), .last = map_new()};
    arena_defer(arena, lexicon_edit_free, edit);
    return edit;
}

static struct str row_key_text(char buffer[ROW_KEY_BYTES], struct str key, int64_t part)
{
    int len = snprintf(buffer, ROW_KEY_BYTES, "%.*s %lld", STR_ARG(key), (long long)part);

    return (struct str){buffer, (size_t)len};
}

static struct lexicon_row *
lexicon_edit_find(const struct lexicon_edit *edit, struct str key, int64_t part)
{
    char buffer[ROW_KEY_BYTES];

    return map_get(edit->by_row_key, row_key_text(buffer, key, part));
}

static struct lexicon_row *
lexicon_edit_add(struct lexicon_edit *edit, struct str key, int64_t part, struct str data)
{
    struct lexicon_row *row = ARENA_NEW(edit->arena, row);
    const struct lexicon_row *last = map_get(edit->last, key);
    char buffer[ROW_KEY_BYTES];

    *row = (struct lexicon_row){.key = key, .part = part, .data = data};
    ARENA_PUSH(edit->arena, edit->rows, edit->count, edit->cap, row);
    (void)map_put(edit->by_row_key, row_key_text(buffer, key, part), row);
    if (last == NULL || last->part < part)
        (void)map_put(edit->last, key, row);
    return row;
}

static void lexicon_edit_set(struct lexicon_row *row, struct str data)
{
    row->dirty = row->dirty || !str_eq(row->data, data);
    row->data = data;
}

static void lexicon_edit_load(struct lexicon_edit *edit, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_lexicon_row row = sql_lexicon_row(edit->arena, rows, i);
        if (lexicon_edit_find(edit, row.key, row.part) == NULL)
            (void)lexicon_edit_add(edit, row.key, row.part, row.data);
    }
}

/* --- words by first letter and length --- */

static struct lexicon_term word_lexicon_term(const struct word *word)
{
    return (struct lexicon_term){
        .term = word->term, .id = word->id, .weight = lexicon_weight(word->df)};
}

/* A word whose rows change. */
struct lexicon_change {
    struct word *word;
    struct str key;
    bool has_key;
    bool is_removed; /* is removed from its row */
};

struct lexicon_changes {
    struct lexicon_edit *edit;
    struct lexicon_change *items; /* new words first, by key */
    size_t count;
};

AWAITS static int load_rows(struct task *task, struct db *db, const struct lexicon_changes *touches)
{
    struct lexicon_edit *edit = touches->edit;
    struct str *fresh = ARENA_ARRAY(edit->arena, fresh, touches->count);
    struct str *keys = ARENA_ARRAY(edit->arena, keys, touches->count);
    int64_t *parts = ARENA_ARRAY(edit->arena, parts, touches->count);
    size_t fresh_count = 0;
    size_t known = 0;
    struct rows rows;

    for (size_t i = 0; i < touches->count; i++) {
        const struct lexicon_change *touched = &touches->items[i];
        if (!touched->has_key)
            continue;
        if (!touched->word->fresh) {
            keys[known] = touched->key;
            parts[known++] = touched->word->part;
        } else if (fresh_count == 0 || !str_eq(fresh[fresh_count - 1], touched->key)) {
            fresh[fresh_count++] = touched->key;
        }
    }
    if (fresh_count > 0) {
        TRY(db_query(task, db, SQL_LEXICON_LAST(.keys = sql_strs(fresh, fresh_count)), &rows));
        lexicon_edit_load(edit, &rows);
    }
    if (known > 0) {
        TRY(db_query(
            task,
            db,
            SQL_LEXICON_PARTS(.keys = sql_strs(keys, known), .parts = sql_i64s(parts, known)),
            &rows));
        lexicon_edit_load(edit, &rows);
    }
    return 0;
}

/* The terms of a row. A malformed row counts as empty: its words are missing until their weight
 * changes. */
static size_t row_terms(struct str data, struct lexicon_term *terms)
{
    struct lexicon_term term;
    size_t count = 0;
    size_t at = 0;
    int rc = 0;

    if (!lexicon_valid(data))
        return 0;
    while (lexicon_next(data, &at, &term, &rc))
        terms[count++] = term;
    return count;
}

/* Stores the rows that were made as the parts from `part` on, and sets the `part` of the new words,
 * which follow `skip` old words. */
static void rows_put_parts(struct lexicon_edit *edit,
                           const struct str *made,
                           size_t count,
                           struct lexicon_change *items,
                           size_t skip,
                           int64_t part)
{
    for (size_t i = 0; i < count; i++, part++) {
        struct lexicon_row *row = lexicon_edit_find(edit, items->key, part);
        struct lexicon_term term;
        size_t at = 0;
        int rc = 0;
        if (row == NULL)
            row = lexicon_edit_add(edit, items->key, part, STR(""));
        lexicon_edit_set(row, made[i]);
        while (lexicon_next(made[i], &at, &term, &rc)) {
            if (skip > 0)
                skip--;
            else
                (items++)->word->part = (int32_t)part;
        }
    }
}

/* Appends the new words of one key to its last part. */
static void
rows_append_new_words(struct lexicon_edit *edit, struct lexicon_change *items, size_t fresh)
{
    const struct lexicon_row *last = map_get(edit->last, items->key);
    struct lexicon_term *terms = ARENA_ARRAY(edit->arena, terms, fresh + LEXICON_BYTES / ROW_LEAST);
    size_t old = last != NULL ? row_terms(last->data, terms) : 0;
    struct str *made;

    for (size_t i = 0; i < fresh; i++)
        terms[old + i] = word_lexicon_term(items[i].word);
    size_t count = lexicon_build(edit->arena, terms, old + fresh, &made);
    rows_put_parts(edit, made, count, items, old, last != NULL ? last->part : 0);
}

static void rows_update_word(struct lexicon_edit *edit, const struct lexicon_change *touched)
{
    const struct word *word = touched->word;
    struct lexicon_row *row = lexicon_edit_find(edit, touched->key, word->part);
    struct str made;

    if (row == NULL)
        return;
    if (touched->is_removed) {
        if (lexicon_remove(edit->arena, row->data, word->id, &made) == 0)
            lexicon_edit_set(row, made);
        return;
    }
    int rc = lexicon_put(edit->arena, row->data, word_lexicon_term(word), &made);
    if (rc == LEXICON_BAD)
        rc = lexicon_put(edit->arena, STR(""), word_lexicon_term(word), &made);
    if (rc == 0)
        lexicon_edit_set(row, made);
}

static int order_touched(const void *left, const void *right)
{
    const struct lexicon_change *a = left;
    const struct lexicon_change *b = right;

    if (a->word->fresh != b->word->fresh)
        return a->word->fresh ? -1 : 1;
    int order = str_cmp(a->key, b->key);
    return order != 0 ? order : (a->word->id > b->word->id) - (a->word->id < b->word->id);
}

/* On a thread: finds the words' keys and sorts. */
static void lexicon_changes_sort(void *arg)
{
    struct lexicon_changes *touches = arg;

    for (size_t i = 0; i < touches->count; i++) {
        struct lexicon_change *touched = &touches->items[i];
        touched->has_key = lexicon_key(touches->edit->arena, touched->word->term, &touched->key);
        if (!touched->has_key)
            touched->key = STR("");
    }
    if (touches->count > 1)
        qsort(touches->items, touches->count, sizeof(*touches->items), order_touched);
}

/* On a thread: changes the rows. */
static void lexicon_changes_apply(void *arg)
{
    struct lexicon_changes *touches = arg;
    struct lexicon_change *items = touches->items;

    for (size_t i = 0; i < touches->count;) {
        size_t to = i + 1;
        if (items[i].has_key && items[i].word->fresh) {
            while (to < touches->count && items[to].word->fresh &&
                   str_eq(items[to].key, items[i].key))
                to++;
            rows_append_new_words(touches->edit, &items[i], to - i);
        } else if (items[i].has_key) {
            rows_update_word(touches->edit, &items[i]);
        }
        i = to;
    }
}

/* Adds the statement that writes the rows in [from, to) that differ. */
static void
add_rows(struct index_batch *batch, const struct lexicon_edit *edit, size_t from, size_t to)
{
    struct arena *arena = batch->arena;
    struct str *keys = ARENA_ARRAY(arena, keys, to - from);
    int64_t *parts = ARENA_ARRAY(arena, parts, to - from);
    int64_t *ats = ARENA_ARRAY(arena, ats, to - from);
    int64_t *lens = ARENA_ARRAY(arena, lens, to - from);
    size_t dirty = 0;
    struct strbuf data;

    strbuf_init(&data, arena, BATCH_BYTES);
    for (size_t i = from; i < to; i++) {
        const struct lexicon_row *row = edit->rows[i];
        if (!row->dirty)
            continue;
        keys[dirty] = row->key;
        parts[dirty] = row->part;
        ats[dirty] = (int64_t)data.len + 1;
        lens[dirty++] = (int64_t)row->data.len;
        strbuf_str(&data, row->data);
    }
    if (dirty > 0)
        batch_call(
            batch,
            db_call_new(arena,
                        SQL_LEXICON_PUT(.keys = sql_strs(keys, dirty),
                                        .parts = sql_i64s(parts, dirty),
                                        .ats = sql_i64s(ats, dirty),
                                        .lens = sql_i64s(lens, dirty),
                                        .data = data.len > 0 ? strbuf_view(&data) : STR(""))));
}

static void lexicon_edit_calls(struct index_batch *batch, const struct lexicon_edit *edit)
{
    for (size_t from = 0; from < edit->count; from += ROWS_AT_ONCE)
        add_rows(batch,
                 edit,
                 from,
                 edit->count - from < ROWS_AT_ONCE ? edit->count : from + ROWS_AT_ONCE);
}

/* --- the most common words of a prefix --- */

/* The prefixes of up to three letters. Returns how many. */
static size_t term_prefixes(struct str term, struct str prefixes[PREFIX_LETTERS])
{
    size_t count = 0;
    size_t at = 0;

    while (count < PREFIX_LETTERS && at < term.len) {
        at++;
        while (at < term.len && ((uint8_t)term.ptr[at] & 0xc0) == 0x80)
            at++;
        prefixes[count++] = (struct str){term.ptr, at};
    }
    return count;
}

/* Replaces the rows of a prefix. Parts that are no longer needed become empty. */
static void prefix_rows_put(struct lexicon_edit *edit, struct str prefix, struct lexicon_best *best)
{
    struct str key = lexicon_prefix_key(edit->arena, prefix);
    struct lexicon_row *row;
    struct str *made;

    lexicon_sort(best);
    size_t count = lexicon_build(edit->arena, best->items, best->count, &made);
    for (size_t i = 0; i < count; i++) {
        row = lexicon_edit_find(edit, key, (int64_t)i);
        if (row == NULL)
            row = lexicon_edit_add(edit, key, (int64_t)i, STR(""));
        lexicon_edit_set(row, made[i]);
    }
    for (size_t i = count; (row = lexicon_edit_find(edit, key, (int64_t)i)) != NULL; i++)
        lexicon_edit_set(row, STR(""));
}

struct prefix_words {
    struct str prefix;
    struct word **words;
    size_t count, cap;
    bool has_rows;
};
struct prefixes {
    struct prefix_words **items;
    size_t count, cap;
};

static bool has_changed_word(const struct prefix_words *of, int32_t id)
{
    for (size_t i = 0; i < of->count; i++)
        if (of->words[i]->id == id)
            return true;
    return false;
}

/* Merges changed words into the rows that a prefix has: the most common words stay. */
static void prefix_rows_merge(struct lexicon_edit *edit, struct prefix_words *of)
{
    struct str key = lexicon_prefix_key(edit->arena, of->prefix);
    const struct lexicon_row *row;
    struct lexicon_best best;

    lexicon_best_init(&best, edit->arena, LEXICON_PREFIXES);
    for (int64_t part = 0; (row = lexicon_edit_find(edit, key, part)) != NULL; part++) {
        struct lexicon_term term;
        size_t at = 0;
        int rc = 0;
        of->has_rows = true;
        while (lexicon_next(row->data, &at, &term, &rc))
            if (!has_changed_word(of, term.id))
                lexicon_offer(&best, term);
    }
    if (!of->has_rows)
        return;
    for (size_t k = 0; k < of->count; k++)
        lexicon_offer(&best, word_lexicon_term(of->words[k]));
    prefix_rows_put(edit, of->prefix, &best);
}

/* Makes the rows of a prefix from its most common words, which are consecutive rows from *at on. */
static void
prefix_rows_build(struct lexicon_edit *edit, const struct rows *rows, size_t *at, struct str prefix)
{
    int64_t of = sql_lexicon_word_row(rows, *at).i;
    struct lexicon_best best;

    lexicon_best_init(&best, edit->arena, LEXICON_PREFIXES);
    for (; *at < rows->count && sql_lexicon_word_row(rows, *at).i == of; (*at)++) {
        const struct sql_lexicon_word_row row = sql_lexicon_word_row(rows, *at);
        lexicon_offer(&best,
                      (struct lexicon_term){.term = row.term,
                                            .id = (int32_t)row.id,
                                            .weight = lexicon_weight(row.df)});
    }
    prefix_rows_put(edit, prefix, &best);
}

/* Makes rows for prefixes that now have more than LEXICON_PREFIXES words. */
AWAITS static int prefix_rows_begin(struct task *task,
                                    struct db *db,
                                    struct lexicon_edit *edit,
                                    const struct prefixes *all)
{
    struct str *prefixes = ARENA_ARRAY(edit->arena, prefixes, all->count);
    struct str *ends = ARENA_ARRAY(edit->arena, ends, all->count);
    size_t wanted = 0;
    struct rows rows;

    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i]->has_rows)
            continue;
        prefixes[wanted] = all->items[i]->prefix;
        ends[wanted++] =
            arena_printf(edit->arena, "%.*s" LAST_CHARACTER, STR_ARG(all->items[i]->prefix));
    }
    if (wanted == 0)
        return 0;
    TRY(db_query(task,
                 db,
                 SQL_LEXICON_BEGIN(.prefixes = sql_strs(prefixes, wanted),
                                   .ends = sql_strs(ends, wanted),
                                   .least = LEXICON_PREFIXES),
                 &rows));
    for (size_t i = 0; i < rows.count;)
        prefix_rows_build(edit, &rows, &i, prefixes[sql_lexicon_word_row(&rows, i).i - 1]);
    return 0;
}

static void group_prefixes(const struct lexicon_changes *touches, struct prefixes *all)
{
    struct arena *arena = touches->edit->arena;
    struct map *seen = map_new();

    *all = (struct prefixes){0};
    for (size_t i = 0; i < touches->count; i++) {
        struct word *word = touches->items[i].word;
        struct str prefixes[PREFIX_LETTERS];
        size_t letters = term_prefixes(word->term, prefixes);
        for (size_t k = 0; k < letters; k++) {
            struct prefix_words *of = map_get(seen, prefixes[k]);
            if (of == NULL) {
                of = ARENA_NEW(arena, of);
                of->prefix = prefixes[k];
                (void)map_put(seen, prefixes[k], of);
                ARENA_PUSH(arena, all->items, all->count, all->cap, of);
            }
            ARENA_PUSH(arena, of->words, of->count, of->cap, word);
        }
    }
    map_free(seen);
}

AWAITS static int
lexicon_edit_prefixes(struct task *task, struct db *db, const struct lexicon_changes *touches)
{
    struct lexicon_edit *edit = touches->edit;
    struct prefixes all;
    struct rows rows;

    group_prefixes(touches, &all);
    struct str *keys = ARENA_ARRAY(edit->arena, keys, all.count);
    for (size_t i = 0; i < all.count; i++)
        keys[i] = lexicon_prefix_key(edit->arena, all.items[i]->prefix);
    TRY(db_query(task, db, SQL_LEXICON_ALL(.keys = sql_strs(keys, all.count)), &rows));
    lexicon_edit_load(edit, &rows);
    for (size_t i = 0; i < all.count; i++)
        prefix_rows_merge(edit, all.items[i]);
    return prefix_rows_begin(task, db, edit, &all);
}

/* --- words of a batch --- */

AWAITS static int lexicon_edit_run(struct task *task,
                                   struct db *db,
                                   struct index_batch *batch,
                                   struct lexicon_changes *touches,
                                   bool prefixes)
{
    if (touches->count == 0)
        return 0;
    touches->edit = lexicon_edit_new(batch->arena);
    work_off_thread(task, lexicon_changes_sort, touches);
    TRY(load_rows(task, db, touches));
    work_off_thread(task, lexicon_changes_apply, touches);
    if (prefixes)
        TRY(lexicon_edit_prefixes(task, db, touches));
    lexicon_edit_calls(batch, touches->edit);
    return 0;
}

static bool is_list_word(const struct word *word)
{
    return word->term.len > 0 && word->term.ptr[0] == '@';
}

static void lexicon_changes_init(struct lexicon_changes *touches, const struct index_batch *batch)
{
    *touches = (struct lexicon_changes){.count = 0};
    touches->items =
        ARENA_ARRAY(batch->arena, touches->items, batch->terms.count - batch->terms.stored);
}

int lexicon_rows_calls(struct task *task, struct db *db, struct index_batch *batch)
{
    struct lexicon_changes touches;

    lexicon_changes_init(&touches, batch);
    for (size_t i = batch->terms.stored; i < batch->terms.count; i++) {
        struct word *word = &batch->terms.items[i];
        int32_t before = word->df;
        if (word->delta != 0 || word->fresh)
            word->df = words_df(word);
        if (word->df == before)
            word->delta = 0;
        if (!is_list_word(word) &&
            (word->fresh || lexicon_weight(before) != lexicon_weight(word->df)))
            touches.items[touches.count++] = (struct lexicon_change){.word = word};
    }
    return lexicon_edit_run(task, db, batch, &touches, touches.count <= PREFIXES_AT_ONCE);
}

int lexicon_rows_tidy(struct task *task, struct db *db, struct index_batch *batch)
{
    struct lexicon_changes touches;

    lexicon_changes_init(&touches, batch);
    for (size_t i = 0; i < batch->terms.count; i++) {
        struct word *word = &batch->terms.items[i];
        if (!is_list_word(word) && word->delta != 0)
            touches.items[touches.count++] =
                (struct lexicon_change){.word = word, .is_removed = word->df == 0};
    }
    return lexicon_edit_run(task, db, batch, &touches, false);
}

/* --- all prefixes --- */

/* While all words are read in their order: the current prefix of one length, and its words. */
struct prefix_scan {
    struct str prefix;
    struct lexicon_best best;
};

static void prefix_scan_end(struct lexicon_edit *edit, struct prefix_scan *passing)
{
    if (passing->best.more)
        prefix_rows_put(edit, passing->prefix, &passing->best);
    passing->best.count = 0;
    passing->best.more = false;
}

static void prefix_scan_word(struct lexicon_edit *edit,
                             struct prefix_scan passing[PREFIX_LETTERS],
                             struct word *word)
{
    struct str prefixes[PREFIX_LETTERS];

    if (is_list_word(word))
        return;
    word->term = arena_dup(edit->arena, word->term);
    size_t letters = term_prefixes(word->term, prefixes);
    for (size_t k = 0; k < letters; k++) {
        if (!str_eq(passing[k].prefix, prefixes[k]))
            prefix_scan_end(edit, &passing[k]);
        passing[k].prefix = prefixes[k];
        lexicon_offer(&passing[k].best, word_lexicon_term(word));
    }
}

/* co: Reads the next words and calls prefix_scan_word() for each. Sets *after to the last word that
 * was read, or to an empty text at the end. */
AWAITS static int prefix_scan_page(struct task *task,
                                   struct db *db,
                                   struct lexicon_edit *edit,
                                   struct prefix_scan passing[PREFIX_LETTERS],
                                   struct str *after)
{
    struct rows rows;

    TRY(db_query(task, db, SQL_LEXICON_WORDS(.after = *after, .most = WORDS_AT_ONCE), &rows));
    for (size_t i = 0; i < rows.count; i++) {
        const struct sql_lexicon_words_row row = sql_lexicon_words_row(&rows, i);
        struct word word = {.term = row.term, .id = (int32_t)row.id, .df = (int32_t)row.df};
        prefix_scan_word(edit, passing, &word);
    }
    *after = rows.count == WORDS_AT_ONCE
                 ? arena_dup(edit->arena, sql_lexicon_words_row(&rows, rows.count - 1).term)
                 : STR("");
    return 0;
}

int lexicon_rows_prefixes(struct task *task, struct index *index)
{
    struct arena *own = task->arena;
    struct lexicon_edit *edit = lexicon_edit_new(own);
    struct prefix_scan passing[PREFIX_LETTERS] = {0};
    struct index_batch batch;
    struct str after = STR("");
    int rc = 0;

    for (size_t k = 0; k < PREFIX_LETTERS; k++)
        lexicon_best_init(&passing[k].best, own, LEXICON_PREFIXES);
    do {
        task->arena = arena_new(0);
        rc = index_must_stop(index) ? INDEX_LOST
                                    : prefix_scan_page(task, index->db, edit, passing, &after);
        arena_free(task->arena);
        task->arena = own;
    } while (rc == 0 && after.len > 0);
    TRY(rc);
    for (size_t k = 0; k < PREFIX_LETTERS; k++)
        prefix_scan_end(edit, &passing[k]);
    batch_init(&batch, own, index);
    batch_call(&batch, db_call_new(own, SQL_LEXICON_FORGET()));
    lexicon_edit_calls(&batch, edit);
    return batch_exec(task, index, batch.calls, batch.call_count);
}
