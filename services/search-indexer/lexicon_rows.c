/* Rows of the lexicon. */
#include "lexicon_rows.h"

#include "lexicon_rows_sql.h"
#include "search/lexicon.h"
#include "search/tokens.h"
#include "words.h"

#define PREFIX_LETTERS   3 /* longer ones are few enough to be read */
#define LAST_CHARACTER   "\xf4\x8f\xbf\xbf"
#define PREFIXES_AT_ONCE 200

/* A row as it is going to be. */
struct lexicon_row {
    struct str key;
    int64_t part;
    struct str data;
    bool dirty;
};

struct edit {
    struct arena *arena;
    struct lexicon_row *rows; /* by key and part */
    size_t count, cap;
};

static struct lexicon_row *edit_find(const struct edit *edit, struct str key, int64_t part)
{
    for (size_t i = edit->count; i > 0; i--) {
        struct lexicon_row *row = &edit->rows[i - 1];
        if (row->part == part && str_eq(row->key, key))
            return row;
    }
    return NULL;
}

static void edit_load(struct edit *edit, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct sql_lexicon_row row = sql_lexicon_row(edit->arena, rows, i);
        if (edit_find(edit, row.key, row.part) == NULL)
            ARENA_PUSH(edit->arena,
                       edit->rows,
                       edit->count,
                       edit->cap,
                       (struct lexicon_row){row.key, row.part, row.data, false});
    }
}

/* --- words by first letter and length --- */

static struct lexicon_term term_of(const struct word *word)
{
    return (struct lexicon_term){
        .term = word->term, .id = word->id, .weight = lexicon_weight(word->df)};
}

/* A row that cannot be read begins anew: what was in it comes back when it is tidied. */
static void put_term(struct edit *edit, struct lexicon_row *row, const struct word *word)
{
    struct str made;
    int rc = lexicon_put(edit->arena, row->data, term_of(word), &made);

    if (rc == LEXICON_BAD)
        rc = lexicon_put(edit->arena, STR(""), term_of(word), &made);
    if (rc != 0)
        return;
    row->data = made;
    row->dirty = true;
}

static struct lexicon_row *edit_last(struct edit *edit, struct str key)
{
    struct lexicon_row *last = NULL;

    for (size_t i = 0; i < edit->count; i++)
        if (str_eq(edit->rows[i].key, key) && (last == NULL || edit->rows[i].part > last->part))
            last = &edit->rows[i];
    return last;
}

static void put_fresh(struct edit *edit, struct word *word, struct str key)
{
    struct lexicon_row *row = edit_last(edit, key);
    struct str made;

    if (row == NULL || lexicon_put(edit->arena, row->data, term_of(word), &made) != 0) {
        int64_t part = row != NULL ? row->part + 1 : 0;
        ARENA_PUSH(edit->arena,
                   edit->rows,
                   edit->count,
                   edit->cap,
                   (struct lexicon_row){key, part, STR(""), true});
        row = &edit->rows[edit->count - 1];
        if (lexicon_put(edit->arena, row->data, term_of(word), &made) != 0)
            return;
    }
    row->data = made;
    row->dirty = true;
    word->part = (int32_t)row->part;
}

/* What happens to one word's rows. */
struct touched {
    struct word *word;
    struct str key;
    bool has_key;
    bool leaves;
};

AWAITS static int load_rows(
    struct task *task, struct db *db, struct edit *edit, const struct touched *items, size_t count)
{
    struct str *fresh = ARENA_ARRAY(edit->arena, fresh, count);
    struct str *keys = ARENA_ARRAY(edit->arena, keys, count);
    int64_t *parts = ARENA_ARRAY(edit->arena, parts, count);
    size_t fresh_count = 0;
    size_t known = 0;
    struct rows rows;

    for (size_t i = 0; i < count; i++) {
        if (!items[i].has_key)
            continue;
        if (items[i].word->fresh) {
            fresh[fresh_count++] = items[i].key;
        } else {
            keys[known] = items[i].key;
            parts[known++] = items[i].word->part;
        }
    }
    if (fresh_count > 0) {
        TRY(db_query(task, db, SQL_LEXICON_LAST(.keys = sql_strs(fresh, fresh_count)), &rows));
        edit_load(edit, &rows);
    }
    if (known > 0) {
        TRY(db_query(
            task,
            db,
            SQL_LEXICON_PARTS(.keys = sql_strs(keys, known), .parts = sql_i64s(parts, known)),
            &rows));
        edit_load(edit, &rows);
    }
    return 0;
}

static void edit_apply(struct edit *edit, const struct touched *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct word *word = items[i].word;
        if (!items[i].has_key)
            continue;
        if (word->fresh) {
            put_fresh(edit, word, items[i].key);
            continue;
        }
        struct lexicon_row *row = edit_find(edit, items[i].key, word->part);
        struct str made;
        if (row == NULL)
            continue;
        if (!items[i].leaves)
            put_term(edit, row, word);
        else if (lexicon_take(edit->arena, row->data, word->id, &made) == 0) {
            row->data = made;
            row->dirty = true;
        }
    }
}

static struct db_call put_call(struct arena *arena, const struct lexicon_row *rows, size_t count)
{
    struct str *keys = ARENA_ARRAY(arena, keys, count);
    int64_t *parts = ARENA_ARRAY(arena, parts, count);
    int64_t *ats = ARENA_ARRAY(arena, ats, count);
    int64_t *lens = ARENA_ARRAY(arena, lens, count);
    size_t dirty = 0;
    struct strbuf data;

    strbuf_init(&data, arena, BATCH_BYTES);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].dirty)
            continue;
        keys[dirty] = rows[i].key;
        parts[dirty] = rows[i].part;
        ats[dirty] = (int64_t)data.len + 1;
        lens[dirty++] = (int64_t)rows[i].data.len;
        strbuf_str(&data, rows[i].data);
    }
    return db_call_new(arena,
                       SQL_LEXICON_PUT(.keys = sql_strs(keys, dirty),
                                       .parts = sql_i64s(parts, dirty),
                                       .ats = sql_i64s(ats, dirty),
                                       .lens = sql_i64s(lens, dirty),
                                       .data = data.len > 0 ? strbuf_view(&data) : STR("")));
}

/* --- the commonest of a prefix --- */

/* Prefixes of up to three letters; how many there are. */
static size_t prefixes_of(struct str term, struct str prefixes[PREFIX_LETTERS])
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

static void put_prefix(struct edit *edit, struct str prefix, struct lexicon_best *best)
{
    struct str key = lexicon_prefix_key(edit->arena, prefix);
    struct str *made;

    lexicon_sort(best);
    size_t count = lexicon_build(edit->arena, best->items, best->count, &made);
    for (size_t i = 0; i < edit->count; i++)
        if (str_eq(edit->rows[i].key, key) && edit->rows[i].part >= (int64_t)count) {
            edit->rows[i].data = STR("");
            edit->rows[i].dirty = true;
        }
    for (size_t i = 0; i < count; i++) {
        struct lexicon_row *row = edit_find(edit, key, (int64_t)i);
        if (row == NULL) {
            ARENA_PUSH(edit->arena,
                       edit->rows,
                       edit->count,
                       edit->cap,
                       (struct lexicon_row){.key = key, .part = (int64_t)i});
            row = &edit->rows[edit->count - 1];
        }
        row->data = made[i];
        row->dirty = true;
    }
}

struct prefix_words {
    struct str prefix;
    struct word **words;
    size_t count, cap;
    bool has_rows;
};

/* Rows that there are take the words in, where those are common enough. */
static void merge_prefix(struct edit *edit, struct prefix_words *of)
{
    struct str key = lexicon_prefix_key(edit->arena, of->prefix);
    struct lexicon_best best;

    lexicon_best_init(&best, edit->arena, LEXICON_PREFIXES);
    for (size_t i = 0; i < edit->count; i++) {
        struct lexicon_term term;
        size_t at = 0;
        int rc = 0;
        if (!str_eq(edit->rows[i].key, key))
            continue;
        of->has_rows = true;
        while (lexicon_next(edit->rows[i].data, &at, &term, &rc)) {
            bool ours = false;
            for (size_t k = 0; k < of->count; k++)
                ours = ours || of->words[k]->id == term.id;
            if (!ours)
                lexicon_offer(&best, term);
        }
    }
    if (!of->has_rows)
        return;
    for (size_t k = 0; k < of->count; k++)
        lexicon_offer(&best, term_of(of->words[k]));
    put_prefix(edit, of->prefix, &best);
}

/* Prefixes that have got more words than are read one by one. */
AWAITS static int begin_prefixes(struct task *task,
                                 struct db *db,
                                 struct edit *edit,
                                 const struct prefix_words *all,
                                 size_t count)
{
    struct str *prefixes = ARENA_ARRAY(edit->arena, prefixes, count);
    struct str *ends = ARENA_ARRAY(edit->arena, ends, count);
    size_t wanted = 0;
    struct rows rows;

    for (size_t i = 0; i < count; i++) {
        if (all[i].has_rows)
            continue;
        prefixes[wanted] = all[i].prefix;
        ends[wanted++] = arena_printf(edit->arena, "%.*s" LAST_CHARACTER, STR_ARG(all[i].prefix));
    }
    if (wanted == 0)
        return 0;
    TRY(db_query(task,
                 db,
                 SQL_LEXICON_BEGIN(.prefixes = sql_strs(prefixes, wanted),
                                   .ends = sql_strs(ends, wanted),
                                   .least = LEXICON_PREFIXES),
                 &rows));
    for (size_t i = 0; i < rows.count;) {
        int64_t of = sql_lexicon_word_row(&rows, i).i;
        struct lexicon_best best;
        lexicon_best_init(&best, edit->arena, LEXICON_PREFIXES);
        for (; i < rows.count && sql_lexicon_word_row(&rows, i).i == of; i++) {
            const struct sql_lexicon_word_row row = sql_lexicon_word_row(&rows, i);
            lexicon_offer(&best,
                          (struct lexicon_term){.term = row.term,
                                                .id = (int32_t)row.id,
                                                .weight = lexicon_weight(row.df)});
        }
        put_prefix(edit, prefixes[of - 1], &best);
    }
    return 0;
}

static size_t group_prefixes(struct edit *edit,
                             const struct touched *items,
                             size_t count,
                             struct prefix_words **ret)
{
    struct prefix_words *all = NULL;
    size_t all_count = 0;
    size_t cap = 0;

    for (size_t i = 0; i < count; i++) {
        struct str prefixes[PREFIX_LETTERS];
        size_t letters = prefixes_of(items[i].word->term, prefixes);
        for (size_t k = 0; k < letters; k++) {
            size_t at = 0;
            while (at < all_count && !str_eq(all[at].prefix, prefixes[k]))
                at++;
            if (at == all_count)
                ARENA_PUSH(
                    edit->arena, all, all_count, cap, (struct prefix_words){.prefix = prefixes[k]});
            ARENA_PUSH(edit->arena, all[at].words, all[at].count, all[at].cap, items[i].word);
        }
    }
    *ret = all;
    return all_count;
}

AWAITS static int edit_prefixes(
    struct task *task, struct db *db, struct edit *edit, const struct touched *items, size_t count)
{
    struct prefix_words *all;
    size_t all_count = group_prefixes(edit, items, count, &all);
    struct str *keys = ARENA_ARRAY(edit->arena, keys, all_count);
    struct rows rows;

    if (all_count == 0)
        return 0;
    for (size_t i = 0; i < all_count; i++)
        keys[i] = lexicon_prefix_key(edit->arena, all[i].prefix);
    TRY(db_query(task, db, SQL_LEXICON_ALL(.keys = sql_strs(keys, all_count)), &rows));
    edit_load(edit, &rows);
    for (size_t i = 0; i < all_count; i++)
        merge_prefix(edit, &all[i]);
    return begin_prefixes(task, db, edit, all, all_count);
}

/* --- what is offered --- */

AWAITS static int edit_run(struct task *task,
                           struct db *db,
                           struct batch *batch,
                           struct touched *items,
                           size_t count,
                           bool prefixes)
{
    struct edit edit = {.arena = batch->arena};

    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        items[i].has_key = lexicon_key(batch->arena, items[i].word->term, &items[i].key);
    TRY(load_rows(task, db, &edit, items, count));
    edit_apply(&edit, items, count);
    if (prefixes)
        TRY(edit_prefixes(task, db, &edit, items, count));
    batch_call(batch, put_call(batch->arena, edit.rows, edit.count));
    return 0;
}

static bool is_list_word(const struct word *word)
{
    return word->term.len > 0 && word->term.ptr[0] == '@';
}

int lexicon_rows_calls(struct task *task, struct db *db, struct batch *batch)
{
    struct touched *items = ARENA_ARRAY(batch->arena, items, batch->terms.count);
    size_t count = 0;

    for (size_t i = 0; i < batch->terms.count; i++) {
        struct word *word = &batch->terms.items[i];
        int32_t before = word->df;
        if (word->delta != 0 || word->fresh)
            word->df = words_df(word);
        if (word->df == before)
            word->delta = 0;
        if (!is_list_word(word) &&
            (word->fresh || lexicon_weight(before) != lexicon_weight(word->df)))
            items[count++] = (struct touched){.word = word};
    }
    return edit_run(task, db, batch, items, count, count <= PREFIXES_AT_ONCE);
}

int lexicon_rows_tidy(struct task *task, struct db *db, struct batch *batch)
{
    struct touched *items = ARENA_ARRAY(batch->arena, items, batch->terms.count);
    size_t count = 0;

    for (size_t i = 0; i < batch->terms.count; i++) {
        struct word *word = &batch->terms.items[i];
        if (!is_list_word(word) && word->delta != 0)
            items[count++] = (struct touched){.word = word, .leaves = word->df == 0};
    }
    return edit_run(task, db, batch, items, count, false);
}

AWAITS static int
read_every(struct task *task, struct index *index, struct edit *edit, int64_t letters)
{
    struct rows rows;

    TRY(db_query(
        task, index->db, SQL_LEXICON_EVERY(.letters = letters, .least = LEXICON_PREFIXES), &rows));
    for (size_t i = 0; i < rows.count;) {
        struct str prefix = sql_lexicon_every_row(&rows, i).prefix;
        struct lexicon_best best;
        lexicon_best_init(&best, edit->arena, LEXICON_PREFIXES);
        for (; i < rows.count && str_eq(sql_lexicon_every_row(&rows, i).prefix, prefix); i++) {
            const struct sql_lexicon_every_row row = sql_lexicon_every_row(&rows, i);
            lexicon_offer(&best,
                          (struct lexicon_term){.term = row.term,
                                                .id = (int32_t)row.id,
                                                .weight = lexicon_weight(row.df)});
        }
        struct str *made;
        lexicon_sort(&best);
        size_t count = lexicon_build(edit->arena, best.items, best.count, &made);
        for (size_t k = 0; k < count; k++)
            ARENA_PUSH(edit->arena,
                       edit->rows,
                       edit->count,
                       edit->cap,
                       (struct lexicon_row){
                           lexicon_prefix_key(edit->arena, prefix), (int64_t)k, made[k], true});
    }
    return 0;
}

int lexicon_rows_prefixes(struct task *task, struct index *index)
{
    struct edit edit = {.arena = task->arena};

    for (int64_t letters = 1; letters <= PREFIX_LETTERS; letters++)
        TRY(read_every(task, index, &edit, letters));
    struct db_call calls[] = {db_call(SQL_LEXICON_FORGET()),
                              put_call(task->arena, edit.rows, edit.count)};
    return batch_exec(task, index, calls, ARRAY_LEN(calls));
}
