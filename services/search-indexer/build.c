/*
 * How a generation gets from 'building' to 'live'. Each call of build_run() is one step:
 *
 *     build_begin()    stores the shape, the field ids and the number of records
 *     build_resume()   takes this process's one build, and deletes the rows past the cursor
 *     build_step()     writes page n while page n + 1 is read: words and forward lists go into the
 *                      tables, posting lists into memory (postings.c)
 *     build_flush()    runs when the memory is full, and after the last page: writes the posting
 *                      lists, then moves the cursor
 *     build_finish()   runs when the cursor is CURSOR_COMPLETE and no changed record waits: makes
 *                      the generation live
 *
 * build_flush() writes leaves in loads (struct leaf_load), one transaction each. A load is made on
 * a thread while the previous load is written, and changed records are indexed between two loads.
 *
 * Records that change during a build: up to the cursor they are indexed in both generations
 * (live.c). Past the cursor, build_changed() notes records that were read already in
 * build.changed_ids, and build_flush() puts these records into the outbox again. Records that were
 * not read yet need nothing.
 */
#include "build.h"

#include "base/clock.h"
#include "base/strbuf.h"
#include "batch.h"
#include "batch_sql.h"
#include "build_clean.h"
#include "index_sql.h"
#include "indexer_measure.h"
#include "leaves_write.h"
#include "lexicon_rows.h"
#include "live.h"
#include "log/log.h"
#include "loop/work.h"
#include "postings.h"
#include "source.h"
#include "words.h"
#include "work.h"

#define CURSOR_COMPLETE  INT64_MAX /* cursor: all records are in; changes go to both generations */
#define LEAVES_TX        5         /* statements of leaves in one transaction */
#define CHECK_DELAY_MS   6000  /* by then every process knows the new model, or answers nothing */
#define CHECK_MARGIN_MS  60000 /* before the build's request: the check covers changes since */
#define TURN_RESERVED_MS 3000  /* how long the next build is reserved */

/* Records of a page and their words, which have numbers of their own until the page is written. */
struct page_read {
    struct arena *arena; /* NULL: no page */
    struct index_terms terms;
    struct docs docs;
};

/* The build of this process. */
static struct build {
    int64_t number, idx; /* project, generation; 0 = none */
    int64_t token; /* lease of its writer: a writer that has lost the lease may still be running */
    struct arena *arena; /* memory of the words */
    struct index_terms terms;
    struct postings *postings;
    struct page_read prefetched; /* the next page, read while the previous page was written */
    int64_t read_up_to;          /* all records up to this id have been read */
    int64_t *changed_ids;        /* records that changed after they had been read */
    size_t changed_count, changed_cap;
    int64_t waiting_number;                     /* project that waits for its turn to build */
    int64_t reserved_number, reserved_until_ms; /* project that the next build is reserved for */
    int64_t passed_number,
        passed_token; /* project and lease of the writer that passed its turn on */
} build;

static void page_free(struct page_read *page)
{
    if (page->arena != NULL)
        arena_free(page->arena);
    *page = (struct page_read){0};
}

static void build_memory_free(void)
{
    postings_free(build.postings);
    if (build.arena != NULL)
        arena_free(build.arena);
    build.postings = NULL;
    build.arena = NULL;
    build.changed_ids = NULL;
    build.changed_count = build.changed_cap = 0;
}

static void build_memory_new(void)
{
    build_memory_free();
    build.arena = arena_new((size_t)64 * 1024);
    terms_init(&build.terms, build.arena);
    build.postings = postings_new();
}

/* Begins empty posting lists after a flush. Words stay in memory while they take less than a third
 * of GROUNDWORK_INDEX_BYTES. */
static void build_memory_next(void)
{
    if (arena_held_bytes(build.arena) > (size_t)indexer_conf()->index_bytes / 3) {
        build_memory_new();
        return;
    }
    postings_free(build.postings);
    build.postings = postings_new();
    build.changed_count = 0;
}

static bool is_built_by(const struct index *index)
{
    return build.number == index->project->number && build.token == index->token;
}

void build_end(const struct index *index)
{
    if (!is_built_by(index))
        return;
    build_memory_free();
    page_free(&build.prefetched);
    build.number = build.idx = 0;
}

/* any: Whether the project may build now. If not, notes the project as waiting. */
static bool can_build(const struct index *index)
{
    int64_t number = index->project->number;
    bool promised = build.number == 0 && build.reserved_number != 0 &&
                    build.reserved_number != number && clock_mono_ms() < build.reserved_until_ms;

    if (promised || (build.number != 0 && !is_built_by(index))) {
        build.waiting_number = number;
        return false;
    }
    if (build.waiting_number == number)
        build.waiting_number = 0;
    build.reserved_number = 0;
    return true;
}

bool build_has_yielded(const struct index *index)
{
    return build.passed_number == index->project->number && build.passed_token == index->token;
}

/* any: Passes the turn to a project that waits; called after a flush, when no posting list is in
 * memory. */
static void build_pass_turn(const struct index *index)
{
    if (build.waiting_number == 0 || build.waiting_number == index->project->number)
        return;
    build.reserved_number = build.waiting_number;
    build.reserved_until_ms = clock_mono_ms() + TURN_RESERVED_MS;
    build.passed_number = index->project->number;
    build.passed_token = index->token;
    build.waiting_number = 0;
    build_end(index);
}

void build_changed(const struct index *index, int64_t idx, struct sql_i64s ids)
{
    if (!is_built_by(index) || build.idx != idx)
        return;
    for (size_t i = 0; i < ids.count && ids.items[i] <= build.read_up_to; i++)
        ARENA_PUSH(
            build.arena, build.changed_ids, build.changed_count, build.changed_cap, ids.items[i]);
}

/* --- beginning --- */

AWAITS static int build_count_records(struct task *task,
                                      struct index *index,
                                      const struct entity *entity,
                                      int64_t *ret_total)
{
    struct strbuf text;
    struct rows rows;

    strbuf_init(&text, task->arena, 256);
    strbuf_printf(&text, "select count(*) from {p}.%.*s t", STR_ARG(entity->table));
    struct sql sql = {.name = "search.total", .kind = SQL_ONE, .heavy = true};
    sql.hash = source_hash(strbuf_view(&text));
    sql.text = strbuf_cstring(&text);
    int rc = db_query(task, index->db, &sql, NULL, 0, &rows);
    *ret_total = rc == 0 ? rows_i64(&rows, 0, 0) : 0;
    return rc == DB_TIMEOUT ? 0 : rc; /* too many to count in time: build without a total */
}

AWAITS static int build_begin(struct task *task,
                              struct index *index,
                              const struct generation *of,
                              const struct entity *entity)
{
    struct index_shape fields;
    int64_t total = 0;
    struct db *tx;

    if (entity == NULL || !shape_wanted(task->arena, entity, &fields)) {
        int64_t idx = of->idx;
        struct db_call drop = db_call(SQL_GENERATION_DROP(.ids = sql_i64s(&idx, 1)));
        return batch_exec(task, index, &drop, 1);
    }
    TRY(build_count_records(task, index, entity, &total));
    TRY(batch_begin(task, index, &tx));
    struct db_call call = db_call(SQL_GENERATION_BEGIN(.idx = of->idx,
                                                       .shape = fields.text,
                                                       .field_ids = shape_ids(task->arena, &fields),
                                                       .total = total));
    return db_batch_commit(task, tx, &call, 1, NULL);
}

/* Deletes rows past the cursor, left by a process that died before it moved the cursor. Sets
 * build.number before the first wait, so that no other project takes this process's one build. */
AWAITS static int build_resume(struct task *task, struct index *index, const struct generation *of)
{
    build_memory_new();
    page_free(&build.prefetched);
    build.number = index->project->number;
    build.token = index->token;
    build.idx = of->idx;
    build.read_up_to = of->cursor_id;
    return build_clean(task, index, of);
}

/* --- a page --- */

/* Whether repeating the step would give the same error. */
static bool is_permanent_error(int rc)
{
    return rc == DB_FAILED || rc == DB_TOO_LARGE || rc == DB_CHECK;
}

struct build_page {
    struct index *index;
    const struct generation *of;
    struct page_read *read_up_to;
    uint32_t *numbers;        /* numbers of the page's words in build.terms */
    struct index_batch batch; /* statements for words, lexicon rows and forward lists */
};

static void page_forwards(struct build_page *page)
{
    struct arena *arena = page->batch.arena;
    const struct docs *docs = &page->read_up_to->docs;
    size_t count = docs->count;
    int64_t *ids = ARENA_ARRAY(arena, ids, count);
    int64_t *ats = ARENA_ARRAY(arena, ats, count);
    int64_t *lens = ARENA_ARRAY(arena, lens, count);
    struct strbuf data;

    strbuf_init(&data, arena, BATCH_BYTES);
    for (size_t i = 0; i < count; i++) {
        struct str bytes = forward_encode(arena, &docs->items[i].list);
        ids[i] = docs->items[i].id;
        ats[i] = (int64_t)data.len + 1;
        lens[i] = (int64_t)bytes.len;
        strbuf_str(&data, bytes);
    }
    batch_call(&page->batch,
               db_call_new(arena,
                           SQL_FORWARDS_ADD(.idx = page->of->idx,
                                            .ids = sql_i64s(ids, count),
                                            .ats = sql_i64s(ats, count),
                                            .lens = sql_i64s(lens, count),
                                            .data = data.len > 0 ? strbuf_view(&data) : STR(""))));
}

/* On a thread: adds the page's words to those of the build. */
static void page_merge_words(void *arg)
{
    struct build_page *page = arg;
    const struct index_terms *terms = &page->read_up_to->terms;

    page->numbers = ARENA_ARRAY(page->read_up_to->arena, page->numbers, terms->count);
    for (size_t i = 0; i < terms->count; i++)
        page->numbers[i] = terms_put(&build.terms, terms->items[i].term);
}

/* On a thread: replaces numbers of words by ids and adds the page to the posting lists in memory.
 */
static void page_add_postings(void *arg)
{
    struct build_page *page = arg;
    const struct docs *docs = &page->read_up_to->docs;

    for (size_t i = 0; i < docs->count; i++) {
        struct doc *doc = &docs->items[i];
        for (size_t k = 0; k < doc->list.count; k++)
            doc->list.items[k].term =
                build.terms.items[page->numbers[doc->list.items[k].term - 1]].id;
        if (doc->list.count > 0)
            (void)forward_sort(doc->list.items, doc->list.count);
        postings_add(build.postings, doc->id, &doc->list);
    }
    page_forwards(page);
}

AWAITS static int build_write_page(struct task *task, struct build_page *page)
{
    struct index *index = page->index;
    struct rows rows;
    struct db *tx;

    page->batch = (struct index_batch){.arena = task->arena, .index = index};
    work_off_thread(task, page_merge_words, page);
    TRY(words_find(task, index, &build.terms));
    page->batch.terms = build.terms;
    TRY(lexicon_rows_calls(task, index->db, &page->batch));
    words_calls(&page->batch);
    work_off_thread(task, page_add_postings, page);
    batch_reset_attempts(&page->batch);
    TRY(batch_begin(task, index, &tx));
    TRY(db_query(
        task,
        tx,
        SQL_GENERATION_COUNT(.idx = page->of->idx, .count = (int64_t)page->read_up_to->docs.count),
        &rows));
    if (rows.count == 0) {
        db_rollback(tx);
        return INDEX_STALE;
    }
    TRY(db_batch_commit(task, tx, page->batch.calls, page->batch.call_count, NULL));
    for (; build.terms.stored < build.terms.count; build.terms.stored++)
        build.terms.items[build.terms.stored].fresh = false;
    return 0;
}

/* Each call of task_all() is a task of its own, and only that task has the database's message: log
 * it here. */
static int page_log_error(const struct task *task, int rc)
{
    if (rc > 0 && is_permanent_error(rc))
        log_error("index.refused", L_STR("message", db_error(task)->message));
    return rc;
}

AWAITS static int build_write_call(struct task *task, void *arg)
{
    return page_log_error(task, build_write_page(task, arg));
}

struct page_wanted {
    struct index *index;
    const struct index_shape *shape;
    int64_t after;
    struct page_read read_up_to;
};

/* The page outlives the round, so it has memory of its own. */
AWAITS static int build_read_page(struct task *task, void *arg)
{
    struct page_wanted *wanted = arg;
    struct arena *own = task->arena;

    wanted->read_up_to.arena = task->arena = arena_new((size_t)64 * 1024);
    terms_init(&wanted->read_up_to.terms, task->arena);
    int rc = source_page(task,
                         wanted->index->db,
                         wanted->shape,
                         wanted->after,
                         indexer_conf()->index_page,
                         &wanted->read_up_to.terms,
                         &wanted->read_up_to.docs);
    task->arena = own;
    return page_log_error(task, rc);
}

/* --- writing posting lists --- */

/* Leaves of one transaction, with memory of their own. */
struct leaf_load {
    struct arena *arena; /* NULL: not made yet, or written */
    struct leaf_writes writes;
    struct db_call calls[2 * LEAVES_TX];
    size_t count;
};

/* A flush: one load is made while the previous load is written. */
struct posting_flush {
    struct index *index;
    const struct generations *all;
    int64_t idx;
    struct leaf_load loads[2];
    struct leaf_load *made, *written;
    bool more;
    struct leaves rest; /* leaves of the current list, in the memory of the load that made them */
    size_t at;
    struct leaf_key key;
};

/* Copies leaves that did not fit into the previous load to the memory of the next load. */
static void posting_flush_carry_over(struct posting_flush *pour, struct arena *to)
{
    struct leaves leaves = {0};

    for (size_t i = pour->at; i < pour->rest.count; i++) {
        struct leaf leaf = pour->rest.items[i];
        leaf.docs = arena_dup(to, leaf.docs);
        ARENA_PUSH(to, leaves.items, leaves.count, leaves.cap, leaf);
    }
    pour->rest = leaves;
    pour->at = 0;
}

/* On a thread: makes as many leaves as one transaction takes. */
static void posting_flush_fill(void *arg)
{
    struct posting_flush *pour = arg;
    struct leaf_load *load = pour->made;
    struct posting_list list;

    load->arena = arena_new(0);
    load->count = 0;
    leaf_writes_init(&load->writes, load->arena, pour->idx);
    load->writes.is_rebuild = true;
    posting_flush_carry_over(pour, load->arena);
    while (load->count + 1 < LEAVES_TX) {
        if (pour->at == pour->rest.count) {
            pour->more = postings_next(build.postings, &list);
            if (!pour->more)
                break;
            pour->key = (struct leaf_key){list.term, list.field};
            pour->at = 0;
            leaves_build(load->arena, list.ids[0], list.ids, (size_t)list.n, &pour->rest);
        }
        leaf_writes_put(&load->writes, pour->key, &pour->rest.items[pour->at++]);
        if (leaf_writes_full(&load->writes))
            load->count += leaf_writes_calls(&load->writes, &load->calls[load->count]);
    }
    load->count += leaf_writes_calls(&load->writes, &load->calls[load->count]);
}

static void posting_flush_sort(void *arg UNUSED)
{
    postings_sort(build.postings);
}

AWAITS static int leaf_load_make(struct task *task, void *arg)
{
    work_off_thread(task, posting_flush_fill, arg);
    return 0;
}

/* co: Writes a load, then indexes changed records, which need not wait for the whole flush. */
AWAITS static int leaf_load_write(struct task *task, void *arg)
{
    struct posting_flush *pour = arg;
    struct leaf_load *load = pour->written;
    struct arena *own = task->arena;
    bool more;

    task->arena = load->arena;
    int rc = load->count > 0 ? batch_exec(task, pour->index, load->calls, load->count) : 0;
    rc = page_log_error(task, rc);
    task->arena = arena_new(0);
    if (rc == 0)
        rc = page_log_error(task, live_run(task, pour->index, pour->all, &more));
    arena_free(task->arena);
    task->arena = own;
    return rc;
}

static void leaf_load_free(struct leaf_load *load)
{
    if (load->arena != NULL)
        arena_free(load->arena);
    load->arena = NULL;
}

AWAITS static int posting_flush_run(struct task *task,
                                    struct index *index,
                                    const struct generations *all,
                                    int64_t idx)
{
    struct posting_flush *pour = ARENA_NEW(task->arena, pour);
    int rc = 0;

    *pour = (struct posting_flush){.index = index, .all = all, .idx = idx, .more = true};
    work_off_thread(task, posting_flush_sort, NULL);
    pour->made = &pour->loads[0];
    work_off_thread(task, posting_flush_fill, pour);
    for (size_t round = 1; rc == 0 && pour->made->arena != NULL; round++) {
        struct task_call calls[] = {{.fn = leaf_load_write, .arg = pour},
                                    {.fn = leaf_load_make, .arg = pour}};
        bool more = pour->more || pour->at < pour->rest.count;
        pour->written = pour->made;
        pour->made = &pour->loads[round % 2];
        rc = index_must_stop(index) ? INDEX_LOST : task_all(task, calls, more ? 2 : 1);
        leaf_load_free(pour->written);
    }
    leaf_load_free(&pour->loads[0]);
    leaf_load_free(&pour->loads[1]);
    return rc;
}

/* Writes all posting lists, then the cursor: everything up to `cursor` is in the tables. */
AWAITS static int build_flush(struct task *task,
                              struct index *index,
                              const struct generations *all,
                              const struct generation *of,
                              int64_t cursor)
{
    struct rows rows;
    struct db *tx;

    TRY(posting_flush_run(task, index, all, of->idx));
    TRY(batch_begin(task, index, &tx));
    TRY(db_query(task, tx, SQL_GENERATION_MOVE(.idx = of->idx, .cursor_id = cursor), &rows));
    if (rows.count == 0) {
        db_rollback(tx);
        return INDEX_STALE;
    }
    struct db_call again =
        db_call(SQL_BUILD_AGAIN(.entity_id = of->entity_id,
                                .ids = sql_i64s(build.changed_ids, build.changed_count)));
    TRY(db_batch_commit(task, tx, &again, 1, NULL));
    build_memory_next();
    return 0;
}

/* --- end --- */

/* Makes the generation live. After the first build of an entity, adds a check of its records
 * (search_work) that is due when all processes know the model: until then some processes may write
 * records without a row of the outbox for search. */
AWAITS static int build_finish(struct task *task,
                               struct index *index,
                               const struct generations *all,
                               const struct generation *of)
{
    bool first = generation_find(all, of->entity_id, "live") == NULL;
    struct db_call calls[] = {
        db_call(SQL_GENERATION_RETIRE(.entity_id = of->entity_id)),
        db_call(SQL_GENERATION_LIVE(.idx = of->idx)),
        db_call(SQL_GENERATION_TIDY(.entity_id = of->entity_id)),
        db_call(SQL_GENERATION_ASKED(.entity_id = of->entity_id)),
        db_call(SQL_WORK_CHECK(.entity_id = of->entity_id,
                               .since = of->created_ms - CHECK_MARGIN_MS,
                               .after_ms = CHECK_DELAY_MS)),
    };

    TRY(batch_exec(task, index, calls, ARRAY_LEN(calls) - (first ? 0 : 1)));
    log_info("index.built",
             L_I64("entity", of->entity_id),
             L_I64("generation", of->idx),
             L_I64("documents", of->documents));
    build_end(index);
    return 0;
}

int generation_replace(struct task *task, struct index *index, int64_t idx)
{
    struct db_call calls[] = {
        db_call(SQL_GENERATION_FAIL(.idx = idx,
                                    .error = STR("The index is damaged and is being rebuilt."))),
        db_call(SQL_GENERATION_ASK_AFTER(.idx = idx)),
    };

    log_error("index.broken", L_I64("generation", idx));
    return batch_exec(task, index, calls, ARRAY_LEN(calls));
}

AWAITS static int
build_fail(struct task *task, struct index *index, const struct generation *of, int rc)
{
    struct db_call call =
        db_call(SQL_GENERATION_FAIL(.idx = of->idx,
                                    .error = rc == DB_TOO_LARGE
                                                 ? STR("A record is too large to be indexed.")
                                                 : STR("The database refused a statement of the "
                                                       "rebuild; see the indexer's log.")));

    log_error("index.build_failed",
              L_I64("entity", of->entity_id),
              L_RESULT("rc", rc),
              L_STR("message", db_error(task)->message));
    build_end(index);
    return batch_exec(task, index, &call, 1);
}

/* Makes the page that was read the next page to write. From now on build_changed() notes changes of
 * the page's records and, after the last page, changes of all records. */
static void page_set_prefetched(struct page_wanted *wanted)
{
    const struct docs *docs = &wanted->read_up_to.docs;

    page_free(&build.prefetched);
    build.prefetched = wanted->read_up_to;
    if (!docs->more)
        build.read_up_to = CURSOR_COMPLETE;
    else if (docs->count > 0)
        build.read_up_to = docs->items[docs->count - 1].id;
}

/* co: Writes a page while the next one is read. */
AWAITS static int page_write_and_prefetch(struct task *task,
                                          struct build_page *page,
                                          const struct index_shape *fields)
{
    const struct docs *docs = &page->read_up_to->docs;
    struct page_wanted wanted = {.index = page->index, .shape = fields};
    struct task_call calls[] = {{.fn = build_write_call, .arg = page},
                                {.fn = build_read_page, .arg = &wanted}};

    if (docs->count == 0)
        return 0;
    wanted.after = docs->items[docs->count - 1].id;
    int rc = task_all(task, calls, docs->more ? 2 : 1);
    if (rc == 0 && docs->more)
        page_set_prefetched(&wanted);
    else
        page_free(&wanted.read_up_to);
    if (rc == 0)
        measure_built(docs->count);
    return rc;
}

AWAITS static int build_flush_if_full(struct task *task,
                                      struct index *index,
                                      const struct generations *all,
                                      const struct generation *of,
                                      const struct page_read *read)
{
    const struct docs *docs = &read->docs;

    if (!docs->more)
        return build_flush(task, index, all, of, CURSOR_COMPLETE);
    if (postings_bytes(build.postings) + arena_held_bytes(build.arena) >=
        (size_t)indexer_conf()->index_bytes) {
        TRY(build_flush(task, index, all, of, docs->items[docs->count - 1].id));
        build_pass_turn(index);
    }
    return 0;
}

AWAITS static int build_step(struct task *task,
                             struct index *index,
                             const struct generations *all,
                             const struct generation *of,
                             const struct entity *entity)
{
    struct index_shape fields;

    shape_of_fields(task->arena, entity, of->field_ids, &fields);
    if (build.prefetched.arena == NULL) {
        struct page_wanted wanted = {.index = index, .shape = &fields, .after = build.read_up_to};
        int rc = build_read_page(task, &wanted);
        if (rc != 0) {
            page_free(&wanted.read_up_to);
            return rc;
        }
        page_set_prefetched(&wanted);
    }
    struct page_read read = build.prefetched;
    struct build_page page = {.index = index, .of = of, .read_up_to = &read};
    build.prefetched = (struct page_read){0};
    int rc = page_write_and_prefetch(task, &page, &fields);
    if (rc == 0)
        rc = build_flush_if_full(task, index, all, of, &read);
    page_free(&read);
    return rc;
}

/* The generation that this writer is building, or else the first one in the state 'building'. */
static const struct generation *build_find_next(const struct index *index,
                                                const struct generations *all)
{
    const struct generation *first = NULL;

    for (size_t i = 0; i < all->count; i++) {
        if (!str_is(all->items[i].state, "building"))
            continue;
        if (is_built_by(index) && build.idx == all->items[i].idx)
            return &all->items[i];
        if (first == NULL)
            first = &all->items[i];
    }
    return first;
}

int build_run(struct task *task,
              struct index *index,
              const struct generations *all,
              bool quiet,
              bool *ret_more)
{
    const struct generation *of = build_find_next(index, all);

    *ret_more = false;
    if (of == NULL) {
        build_end(index);
        return 0;
    }
    if (!can_build(index))
        return 0;
    const struct entity *entity = model_entity_by_id(index->model, of->entity_id);
    *ret_more = true;
    if (of->shape_text.len == 0 || entity == NULL)
        return build_begin(task, index, of, entity);
    if (of->cursor_id == CURSOR_COMPLETE)
        return quiet ? build_finish(task, index, all, of) : 0;
    int rc = build.number == 0 || build.idx != of->idx ? build_resume(task, index, of)
                                                       : build_step(task, index, all, of, entity);
    if (rc != 0)
        build_end(index); /* memory and tables may differ: the next run resumes from the cursor */
    if (is_permanent_error(rc))
        return build_fail(task, index, of, rc);
    return rc;
}
