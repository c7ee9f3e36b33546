/*
 * Delivers a page of changes. One statement per entity reads the changes for all its listeners,
 * regardless of their rights. The result then shows for each listener what its rules let it see. An
 * event is written once for all listeners with the same view of the entity (changes_view_key()).
 */
#include "areas/live/hub.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"
#include "live_sql.h"

#define PAGE              200
#define BATCH_BYTES       ((size_t)64 * 1024) /* of records whose changes are sent together */
#define VIEWS_CACHED      16
#define SCHEMA_MISSES_MAX 10

/* One entity's part of a page. */
struct page_part {
    const struct entity *entity;
    struct changes changes;
    struct hub_test **tests;
    size_t test_count;
};

struct page_row {
    int64_t seq;
    const struct page_part *part;
    size_t row;
};

struct hub_page {
    struct live_position from; /* a copy, because the group's position moves */
    struct str upto;
    int64_t first, last;
    bool has_more;
    struct page_part *parts;
    size_t part_count;
    struct page_row *rows;
    size_t row_count;
};

/* A change that is being sent, and the chunks that were written for the change, by view and
 * event. */
struct pending_change {
    const struct page_row *at;
    struct record_change change;
    struct str position;
    struct cached_event {
        uint64_t view;
        const char *event;
        struct http_chunk *chunk;
    } sent[VIEWS_CACHED];
    size_t count;
};

/* --- reading --- */

static const struct hub_watch *listener_find_watch(const struct hub_subscriber *listener,
                                                   int64_t entity_id)
{
    for (size_t i = 0; i < listener->watch_count; i++)
        if (listener->watches[i].entity_id == entity_id)
            return &listener->watches[i];
    return NULL;
}

/* Collects the tests of the group's listeners on the entity and gives each its index. Returns false
 * when no listener follows the entity. */
static bool
part_collect_tests(const struct hub_round *round, struct hub_group *group, struct page_part *part)
{
    struct arena *arena = round->task->arena;
    bool any = false;
    size_t cap = 0;

    LIST_FOR (link, &group->listeners) {
        const struct hub_subscriber *listener = LIST_ITEM(link, struct hub_subscriber, link);
        const struct hub_watch *watch = listener_find_watch(listener, part->entity->id);
        if (listener->is_gone || !watch)
            continue;
        any = true;
        if (!watch->test || watch->test->index != SIZE_MAX)
            continue;
        watch->test->index = part->test_count;
        watch->test->refs++;
        ARENA_PUSH(arena, part->tests, part->test_count, cap, watch->test);
    }
    return any;
}

static void page_release_tests(struct hub_page *page)
{
    for (size_t i = 0; i < page->part_count; i++) {
        struct page_part *part = &page->parts[i];
        for (size_t k = 0; k < part->test_count; k++) {
            part->tests[k]->index = SIZE_MAX;
            hub_test_unref(part->tests[k]);
        }
        part->test_count = 0;
    }
}

AWAITS static int
hub_read_part(const struct hub_round *round, const struct hub_page *page, struct page_part *part)
{
    static const struct caller system = {.kind = CALLER_SYSTEM};
    struct arena *arena = round->task->arena;
    struct changes_test *tests = ARENA_ARRAY(arena, tests, part->test_count + 1);
    const struct changes_span span = {&page->from, page->upto, page->first, page->last};
    struct records_ctx *ctx = ARENA_NEW(arena, ctx);

    *ctx = (struct records_ctx){
        .task = round->task,
        .directory = gateway_directory(),
        .project = round->project,
        .db = &round->project->db,
        .model = round->model,
        .caller = &system,
    };
    for (size_t i = 0; i < part->test_count; i++)
        tests[i] = (struct changes_test){&part->tests[i]->caller, &part->tests[i]->filter};
    int rc = changes_read(ctx, part->entity, &span, tests, part->test_count, &part->changes);
    if (rc == RECORDS_FAILED &&
        (ctx->error.code == PROBLEM_DEPENDENCY_UNAVAILABLE || ctx->error.code == PROBLEM_TIMEOUT))
        return DB_UNAVAILABLE;
    return rc;
}

static int order_by_seq(const void *left, const void *right)
{
    const struct page_row *a = left;
    const struct page_row *b = right;

    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* Merges the rows of all parts in the order of the log. */
static void page_sort_rows(struct arena *arena, struct hub_page *page)
{
    size_t count = 0;

    for (size_t i = 0; i < page->part_count; i++)
        count += page->parts[i].changes.rows.count;
    page->rows = ARENA_ARRAY(arena, page->rows, count);
    for (size_t i = 0; i < page->part_count; i++) {
        const struct page_part *part = &page->parts[i];
        for (size_t row = 0; row < part->changes.rows.count; row++)
            page->rows[page->row_count++] =
                (struct page_row){changes_seq(&part->changes, row), part, row};
    }
    if (page->row_count > 1)
        qsort(page->rows, page->row_count, sizeof(*page->rows), order_by_seq);
}

AWAITS static int hub_read_parts(const struct hub_round *round,
                                 struct hub_group *group,
                                 const struct sql_i64s *entity_ids,
                                 struct hub_page *page)
{
    page->parts = ARENA_ARRAY(round->task->arena, page->parts, entity_ids->count);
    for (size_t i = 0; i < entity_ids->count; i++) {
        struct page_part *part = &page->parts[page->part_count];
        part->entity = model_entity_by_id(round->model, entity_ids->items[i]);
        if (!part->entity || !part_collect_tests(round, group, part))
            continue;
        page->part_count++;
        TRY(hub_read_part(round, page, part));
    }
    page_sort_rows(round->task->arena, page);
    return 0;
}

/* --- sending --- */

/* Returns the event of a change for a listener; NULL when the listener must not receive the
 * change. */
static const char *change_event_for(const struct hub_subscriber *listener,
                                    const struct page_part *part,
                                    const struct record_change *change)
{
    const struct hub_watch *watch = listener_find_watch(listener, part->entity->id);
    bool before = change->existed_before;
    bool after = change->exists_after;

    if (!watch)
        return NULL;
    if (change->kind == LIVE_RESET)
        return "reset";
    if (watch->test) {
        size_t index = watch->test->index;
        if (index >= change->tests_before.len) /* the listener came while the page was read */
            return NULL;
        before = before && change->tests_before.ptr[index] == '1';
        after = after && change->tests_after.ptr[index] == '1';
    }
    before = before &&
             change_is_visible(&listener->caller, part->entity, change, &change->granted_before);
    after =
        after && change_is_visible(&listener->caller, part->entity, change, &change->granted_after);
    if (!before)
        return after ? "created" : NULL;
    if (!after)
        return "deleted";
    return change->kind == LIVE_UPDATED ? "updated" : NULL;
}

static struct http_chunk *sending_make_chunk(const struct hub_round *round,
                                             const struct pending_change *sending,
                                             const char *event,
                                             const struct caller *caller)
{
    struct arena *arena = round->task->arena;
    const struct page_part *part = sending->at->part;

    if (str_is(str_from(event), "reset"))
        return hub_event_reset(arena, sending->position, part->entity, "changes");
    return hub_event_change(
        arena, sending->position, event, &part->changes, sending->at->row, caller);
}

/* Returns a reference to the chunk for the listener; NULL when change_event_for() returns NULL. */
static struct http_chunk *sending_find_chunk(const struct hub_round *round,
                                             struct pending_change *sending,
                                             const struct hub_subscriber *listener)
{
    const struct caller *caller = &listener->caller;
    const struct page_part *part = sending->at->part;
    const char *event = change_event_for(listener, part, &sending->change);

    if (!event)
        return NULL;
    uint64_t view = changes_view_key(caller, part->entity);
    for (size_t i = 0; i < sending->count; i++)
        if (sending->sent[i].view == view && sending->sent[i].event == event)
            return http_chunk_ref(sending->sent[i].chunk);
    struct http_chunk *chunk = sending_make_chunk(round, sending, event, caller);
    if (sending->count < VIEWS_CACHED)
        sending->sent[sending->count++] = (struct cached_event){view, event, http_chunk_ref(chunk)};
    return chunk;
}

static void listener_send_changes(const struct hub_round *round,
                                  struct hub_subscriber *listener,
                                  struct pending_change *sending,
                                  size_t count)
{
    struct http_chunk *pieces[FEED_CHUNKS];
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        if ((pieces[found] = sending_find_chunk(round, &sending[i], listener)) != NULL)
            found++;
    if (found > 0)
        http_feed_send_all(&listener->feed, pieces, found);
    for (size_t i = 0; i < found; i++)
        http_chunk_unref(pieces[i]);
}

/* co: Always runs to its end, even when the round is cancelled, so that no listener receives a
 * change twice. Each listener receives all changes in one call. */
AWAITS static void send_changes(const struct hub_round *round,
                                struct hub_group *group,
                                struct pending_change *sending,
                                size_t count)
{
    LIST_FOR (link, &group->listeners) {
        struct hub_subscriber *listener = LIST_ITEM(link, struct hub_subscriber, link);
        task_pause_if_due(round->task); /* no listener leaves the list while a round runs */
        if (!listener->is_gone)
            listener_send_changes(round, listener, sending, count);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sending[i].count; k++)
            http_chunk_unref(sending[i].sent[k].chunk);
}

/* Returns the position after row `i`; after the last row, the position after the whole page. */
static struct live_position position_after(const struct hub_page *page, size_t i)
{
    if (i + 1 == page->row_count && !page->has_more)
        return (struct live_position){.since = page->upto};
    return (struct live_position){
        .since = page->from.since, .upto = page->upto, .after_seq = page->rows[i].seq};
}

/* Prepares the next rows of the page that are sent together, and returns their number. */
static size_t page_prepare(const struct hub_round *round,
                           const struct hub_page *page,
                           size_t first,
                           struct pending_change *sending)
{
    struct arena *arena = round->task->arena;
    size_t bytes = 0;
    size_t count = 0;

    while (count < FEED_CHUNKS && first + count < page->row_count && bytes < BATCH_BYTES) {
        const struct page_row *at = &page->rows[first + count];
        const struct live_position position = position_after(page, first + count);
        bytes += changes_bytes(&at->part->changes, at->row);
        sending[count].at = at;
        sending[count].change = changes_get(arena, &at->part->changes, at->row);
        sending[count].position = live_position_print(arena, &position);
        sending[count++].count = 0;
    }
    return count;
}

/* co: Sends the page and returns how many of its rows were sent: all, or those sent before the
 * project's rights changed, one batch at least. */
AWAITS static size_t
send_page(const struct hub_round *round, struct hub_group *group, const struct hub_page *page)
{
    struct pending_change *sending = ARENA_ARRAY(round->task->arena, sending, FEED_CHUNKS);
    size_t sent = 0;

    while (sent < page->row_count) {
        if (sent > 0 &&
            directory_epoch(gateway_directory(), round->hub->number) != round->hub->epoch)
            break;
        size_t count = page_prepare(round, page, sent, sending);
        send_changes(round, group, sending, count);
        sent += count;
    }
    round->hub->was_busy = round->hub->was_busy || sent > 0;
    return sent;
}

/* --- pages --- */

/* co: Moves the group to `upto` and sends a reset, because the log no longer reaches back to the
 * group's position, or its rows can no longer be read. */
AWAITS static int
reset_group(const struct hub_round *round, struct hub_group *group, struct str upto)
{
    struct arena *arena = round->task->arena;
    const struct live_position position = {.since = upto};

    hub_group_move(group, &position);
    struct str text = live_position_print(arena, &group->position);
    hub_group_send(round->task, group, hub_event_reset(arena, text, NULL, "position"));
    return 0;
}

static struct live_position copy_position(struct arena *arena, const struct live_position *position)
{
    return (struct live_position){
        .since = arena_dup(arena, position->since),
        .upto = position->upto.len > 0 ? arena_dup(arena, position->upto) : STR_NONE,
        .after_seq = position->after_seq,
    };
}

/* co: Reads the next page. A page that an earlier call began is first read to the end of that page.
 * *ret_whole: whether the log reaches back to the group's position. */
AWAITS static int hub_read_page(const struct hub_round *round,
                                struct hub_group *group,
                                struct str upto,
                                struct hub_page *page,
                                bool *ret_whole)
{
    struct arena *arena = round->task->arena;
    struct sql_i64s entity_ids;
    struct rows rows;

    page->from = copy_position(arena, &group->position);
    TRY(db_query(round->task,
                 &round->project->db,
                 SQL_LIVE_WINDOW(.upto = page->from.upto.len > 0 ? page->from.upto : upto,
                                 .since = page->from.since,
                                 .behind = page->from.after_seq > 0 ? page->from.after_seq : 0,
                                 .most = PAGE),
                 &rows));
    const struct sql_live_window_row window = sql_live_window_row(arena, &rows, 0);
    page->upto = window.upto;
    page->first = window.first;
    page->last = window.last;
    page->has_more = window.changes == PAGE;
    entity_ids = window.entity_ids;
    *ret_whole = window.whole;
    return window.whole ? hub_read_parts(round, group, &entity_ids, page) : 0;
}

static void group_move_after_page(struct hub_group *group, const struct hub_page *page)
{
    struct live_position position = {.since = page->upto};

    if (page->has_more)
        position = (struct live_position){
            .since = page->from.since, .upto = page->upto, .after_seq = page->last};
    hub_group_move(group, &position);
}

/* co: The tables no longer fit the model. Reads the model again, for the next round. */
AWAITS static int model_reload(const struct hub_round *round)
{
    const struct model *model;

    TRY(project_reload_model(round->task, round->project, &model));
    return DB_SCHEMA;
}

int hub_deliver(const struct hub_round *round,
                struct hub_group *group,
                struct str upto,
                bool *ret_more)
{
    struct hub_page *page = ARENA_NEW(round->task->arena, page);
    bool whole = true;
    bool audited = false; /* more audit entries follow, and the page comes after them */
    size_t sent = 0;

    *ret_more = false;
    int rc = hub_read_page(round, group, upto, page, &whole);
    if (rc == 0 && whole)
        rc = hub_audit_deliver(round, group, page->upto, &audited);
    if (rc == 0 && whole && !audited)
        sent = send_page(round, group, page);
    page_release_tests(page);
    if (rc == RECORDS_SCHEMA && round->hub->schema_misses++ < SCHEMA_MISSES_MAX)
        return model_reload(round);
    if (!whole)
        round->hub->log_renewed_ms = 0;
    if (rc == RECORDS_SCHEMA || rc == RECORDS_FAILED || (rc == 0 && !whole))
        return reset_group(round, group, page->upto);
    TRY(rc);
    round->hub->schema_misses = 0;
    if (audited) {
        *ret_more = true;
        return 0;
    }
    if (sent < page->row_count) { /* the next round checks rights, then sends the rest */
        const struct live_position position = position_after(page, sent - 1);
        hub_group_move(group, &position);
        return -EAGAIN;
    }
    /* A page that was begun earlier ends at its own snapshot, which may be older than `upto`. */
    *ret_more = page->has_more || page->from.upto.len > 0;
    group_move_after_page(group, page);
    return 0;
}
