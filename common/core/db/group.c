/*
 * Reads on shared connections: the reads queued in one turn leave together, in groups of one Sync
 * each.
 *
 * The results of a group arrive with its Sync, so the stuck statement of a group cannot be
 * distinguished from the statements before it. When a group takes too long, its statements are sent
 * again elsewhere, each with a Sync of its own. A statement that gets stuck alone is the culprit:
 * it stays and is heavy for a while, and the reads queued after it move to other connections.
 */
#include <string.h>

#include "base/ascii.h"
#include "base/panic.h"
#include "db/group_private.h"
#include "db/pipe_private.h"
#include "db/server_private.h"
#include "db/stmt_private.h"

/* --- queue --- */

void group_add(struct db_server *server, struct db_op *op)
{
    list_append(&server->reads, &op->link);
    server->reads_count++;
    loop_at_tick_end(&server->flush_hook);
}

void group_remove(struct db_server *server, struct db_op *op)
{
    list_remove(&op->link);
    server->reads_count--;
}

static bool is_usable(const struct db_conn *conn, unsigned groups)
{
    return conn->state == CONN_READY && !conn->stuck && conn->groups < groups;
}

/* True when the read should go to `least`, which has to prepare the statement and read the catalog
 * entries of its tables. That costs more than a hundred runs, so it is worth it only for a
 * statement with SPREAD_RUNS_MIN runs in flight at home, or when home is busier by more than
 * SPREAD_SURPLUS_MIN items. */
static bool
is_worth_preparing(const struct db_conn *home, const struct db_conn *least, const struct db_op *op)
{
    const struct stmt *stmt = stmt_peek(&home->stmts, op->key);

    return (stmt && stmt->in_flight >= SPREAD_RUNS_MIN) ||
           home->ring_count > least->ring_count + SPREAD_SURPLUS_MIN;
}

/* The least busy connection that has the statement prepared; NULL = none. */
static struct db_conn *pick_warm(struct db_server *server, const struct db_op *op)
{
    struct db_conn *warm = NULL;

    LIST_FOR (it, &server->read) {
        struct db_conn *conn = LIST_ITEM(it, struct db_conn, link);
        if (is_usable(conn, GROUPS_IN_FLIGHT) && stmt_peek(&conn->stmts, op->key) &&
            (!warm || conn->ring_count < warm->ring_count))
            warm = conn;
    }
    return warm;
}

/*
 * Chooses the connection of a read. Each statement has a home connection, which has it prepared and
 * its tables cached. A read is sent home as long as home has at most HOME_SURPLUS_MAX more items in
 * flight than the least busy connection. So a thousand tables do not cost each connection a
 * thousand plans, and one busy table still uses all connections.
 */
static struct db_conn *pick_conn(struct db_server *server, const struct db_op *op, bool *ret_idle)
{
    struct db_conn *least = NULL;
    struct db_conn *home = NULL;
    uint64_t best = 0;

    *ret_idle = false;
    LIST_FOR (it, &server->read) {
        struct db_conn *conn = LIST_ITEM(it, struct db_conn, link);
        /* Rendezvous hashing: a connection that opens or closes moves only its own statements. */
        uint64_t weight = (op->key ^ (uint64_t)(uintptr_t)conn) * 0x9e3779b97f4a7c15ULL;
        if (!is_usable(conn, HOME_GROUPS))
            continue;
        if (conn->extra)
            weight = 0;
        *ret_idle = *ret_idle || conn->ring_count == 0;
        if (!home || weight > best) {
            home = conn;
            best = weight;
        }
        if (is_usable(conn, GROUPS_IN_FLIGHT) && (!conn->extra || op->resent_count > 0) &&
            (!least || conn->ring_count < least->ring_count))
            least = conn;
    }
    if (!home || !least || home->ring_count <= least->ring_count + HOME_SURPLUS_MAX)
        return home && (least || home->extra) ? home : NULL;
    struct db_conn *warm = pick_warm(server, op);
    if (warm && warm->ring_count <= least->ring_count + HOME_SURPLUS_MAX)
        return warm;
    if (is_worth_preparing(home, least, op))
        return least;
    return warm ? warm : home;
}

static void close_group(struct db_conn *conn)
{
    if (conn->group_open)
        pipe_sync(conn, NULL);
    conn->group_open = 0;
    conn->group_cold = 0;
}

static void group_send_read(struct db_conn *conn, struct db_op *op)
{
    bool cold = stmt_peek(&conn->stmts, op->key) == NULL;

    if (op->own_sync || conn->group_open == GROUP_MAX ||
        (cold && conn->group_cold == GROUP_FIRST_RUNS_MAX))
        close_group(conn);
    pipe_op(conn, op);
    conn->group_open++;
    conn->group_cold += cold;
    if (op->own_sync)
        close_group(conn);
}

/* Reads that must run on a lease do not wait for a shared connection first. */
static void refuse_heavy(struct db_server *server)
{
    LIST_FOR (it, &server->reads) {
        struct db_op *op = LIST_ITEM(it, struct db_op, link);
        if (!group_needs_lease(server, op->schema, op->key))
            continue;
        group_remove(server, op);
        op_end(op, OP_HEAVY, NULL);
    }
}

void group_flush(struct db_server *server)
{
    bool idle;

    refuse_heavy(server);
    while (server->reads_count > 0) {
        struct db_op *op = LIST_ITEM(server->reads.next, struct db_op, link);
        struct db_conn *conn = pick_conn(server, op, &idle);
        if (!idle)
            server->reads_wanted = true;
        if (!conn)
            break;
        group_remove(server, op);
        group_send_read(conn, op);
    }
    LIST_FOR (it, &server->read)
        close_group(LIST_ITEM(it, struct db_conn, link));
    if (server->reads_wanted || server->reads_count > 0)
        server_grow(server);
}

/* --- heavy statements --- */

static struct heavy_mark *find_mark(struct db_server *server, uint64_t key)
{
    for (unsigned i = 0; i < server->heavy_used; i++)
        if (server->heavy_marks[i].key == key)
            return &server->heavy_marks[i];
    return NULL;
}

bool group_is_heavy(struct db_server *server, uint64_t key)
{
    const struct heavy_mark *mark = find_mark(server, key);

    return mark != NULL && mark->until_ms > server_now_ms();
}

/* The mark to use: a free mark, or the mark that ends first. A project that has
 * HEAVY_PER_PROJECT_MAX marks reuses one of them, so it pushes out no other project's mark. */
static struct heavy_mark *oldest_mark(struct db_server *server, int64_t schema)
{
    struct heavy_mark *oldest = &server->heavy_marks[0];
    struct heavy_mark *own = NULL;
    unsigned count = 0;

    for (unsigned i = 0; i < server->heavy_used; i++) {
        struct heavy_mark *mark = &server->heavy_marks[i];
        if (mark->until_ms < oldest->until_ms)
            oldest = mark;
        if (mark->schema != schema)
            continue;
        count++;
        if (own == NULL || mark->until_ms < own->until_ms)
            own = mark;
    }
    if (schema != 0 && count >= HEAVY_PER_PROJECT_MAX)
        return own;
    return server->heavy_used < HEAVY_MAX ? &server->heavy_marks[server->heavy_used++] : oldest;
}

void group_mark_heavy(struct db_server *server, uint64_t key, int64_t schema)
{
    struct heavy_mark *mark = find_mark(server, key);

    if (server->config.dedicated)
        return;
    if (mark == NULL)
        mark = oldest_mark(server, schema);
    *mark =
        (struct heavy_mark){.key = key, .schema = schema, .until_ms = server_now_ms() + HEAVY_MS};
}

void group_record_run(struct db_server *server, const struct db_op *op, int64_t spent_ms)
{
    struct heavy_mark *mark = find_mark(server, op->key);

    if (mark == NULL)
        return;
    mark->quick_runs = spent_ms < STUCK_MS ? mark->quick_runs + 1 : 0;
    if (mark->quick_runs >= QUICK_RUNS_MIN)
        mark->until_ms = 0;
}

/* --- stuck connections --- */

/* Counts the statements of the oldest group. *ret_first: how many of the statements run for the
 * first time here. *ret_only: the item when there is only one, else NULL. */
static unsigned oldest_group(struct db_conn *conn, unsigned *ret_first, struct item **ret_only)
{
    unsigned queries = 0;

    *ret_only = NULL;
    *ret_first = 0;
    for (unsigned i = 0; i < conn->ring_count; i++) {
        struct item *item = pipe_at(conn, i);
        if (item->kind == ITEM_SYNC && queries > 0)
            break;
        if (item->kind != ITEM_QUERY)
            continue;
        queries++;
        *ret_first += item->is_first_run;
        *ret_only = queries == 1 ? item : NULL;
    }
    return queries;
}

/* Takes an op off the connection and queues it again, for another connection. */
static void move_op(struct db_server *server, struct db_conn *conn, struct db_op *op)
{
    pipe_forget(conn, op);
    op_uncount(op); /* its rows will arrive again */
    op->conn = NULL;
    op->own_sync = true;
    op->resent_count++;
    op->queued_ms = server_now_ms();
    list_append(&server->reads, &op->link);
    server->reads_count++;
    server->stats.redispatched++;
}

static void move_others(struct db_server *server, struct db_conn *conn, const struct item *culprit)
{
    for (unsigned i = 0; i < conn->ring_count; i++) {
        struct item *item = pipe_at(conn, i);
        if (item->kind == ITEM_QUERY && item->op && item != culprit)
            move_op(server, conn, item->op);
    }
}

void group_move_all(struct db_conn *conn)
{
    move_others(conn->server, conn, NULL);
    loop_at_tick_end(&conn->server->flush_hook);
}

/* True while reads of other projects hold leases. These reads keep the database busy and may be why
 * a statement is slow, so the statement is marked heavy only after HEAVY_BUSY_MS. */
static bool is_busy_for_others(const struct db_server *server, int64_t schema)
{
    for (const struct list *it = server->write.next; it != &server->write; it = it->next) {
        const struct db_conn *conn = CONTAINER_OF(it, struct db_conn, link);
        if (conn->lease_is_read && conn->lease_schema != schema)
            return true;
    }
    return false;
}

/* Marks the statement that holds the connection up as heavy. A first run is marked only after
 * STUCK_MAX_MS: it also has to prepare the statement and read the catalog entries of its tables,
 * which is slow on a busy machine. */
static void culprit_mark_heavy(struct db_server *server, struct db_conn *conn, int64_t now_ms)
{
    struct item *only;
    unsigned first;

    int64_t spent_ms = now_ms - conn->head_since_ms;
    if (oldest_group(conn, &first, &only) == 0 || !only ||
        (only->is_first_run && spent_ms <= STUCK_MAX_MS))
        return;
    if (spent_ms > HEAVY_BUSY_MS || !is_busy_for_others(server, only->schema))
        group_mark_heavy(server, only->key, only->schema);
}

/* --- connections that a project holds up --- */

/* True when all statements of the oldest group are the project's. *ret_among: when any is. */
static bool group_is_only_of(struct db_conn *conn, int64_t schema, bool *ret_among)
{
    bool only = true;

    *ret_among = false;
    for (unsigned i = 0; i < conn->ring_count; i++) {
        struct item *item = pipe_at(conn, i);
        if (item->kind == ITEM_SYNC && (*ret_among || !only))
            break;
        if (item->kind != ITEM_QUERY)
            continue;
        *ret_among = *ret_among || item->schema == schema;
        only = only && item->schema == schema;
    }
    return only && *ret_among;
}

/* Counts the connections that the project holds up. A group of several projects counts only for a
 * project that also holds up a connection alone. *ret_known: whether a healthy connection has the
 * statement prepared. */
static unsigned
stuck_conn_count(struct db_server *server, int64_t schema, uint64_t key, bool *ret_known)
{
    unsigned own = 0;
    unsigned mixed = 0;

    *ret_known = false;
    LIST_FOR (it, &server->read) {
        struct db_conn *conn = LIST_ITEM(it, struct db_conn, link);
        bool among;
        if (!conn->stuck) {
            *ret_known = *ret_known || stmt_peek(&conn->stmts, key);
            continue;
        }
        if (group_is_only_of(conn, schema, &among))
            own++;
        else
            mixed += among;
    }
    return own > 0 ? own + mixed : 0;
}

bool group_needs_lease(struct db_server *server, int64_t schema, uint64_t key)
{
    bool known;

    if (group_is_heavy(server, key))
        return true;
    if (schema == 0 || server->config.dedicated || server->stuck_count == 0)
        return false;
    unsigned most = server->config.read_connections;
    unsigned stuck = stuck_conn_count(server, schema, key, &known);
    return stuck >= most || (stuck > 0 && stuck >= most / 2 && !known);
}

static void conn_check_stuck(struct db_server *server, struct db_conn *conn, int64_t now_ms)
{
    struct item *only;
    unsigned first;

    if (conn->state != CONN_READY || conn->ring_count == 0)
        return;
    if (conn->stuck) {
        culprit_mark_heavy(server, conn, now_ms);
        return;
    }
    unsigned queries = oldest_group(conn, &first, &only);
    /* A full group of healthy statements may well take longer than one stuck statement, and a first
     * run is cold on every connection. */
    int64_t limit_ms = STUCK_MS + (queries > 1 ? queries : 0) + (int64_t)first * FIRST_RUN_MS;
    if (limit_ms > STUCK_MAX_MS)
        limit_ms = STUCK_MAX_MS;
    if (queries == 0 || now_ms - conn->head_since_ms <= limit_ms)
        return;
    /* The loop itself may be late: read an answer that has already arrived. */
    int64_t since_ms = conn->head_since_ms;
    if (!conn_read(conn) || conn->ring_count == 0 || conn->head_since_ms != since_ms)
        return;
    conn->stuck = true;
    culprit_mark_heavy(server, conn, now_ms);
    move_others(server, conn, only);
}

void group_check_stuck(struct db_server *server, int64_t now_ms)
{
    server->stuck_count = 0;
    LIST_FOR (it, &server->read) {
        struct db_conn *conn = LIST_ITEM(it, struct db_conn, link);
        conn_check_stuck(server, conn, now_ms);
        server->stuck_count += conn->stuck;
    }
    if (server->reads_count > 0)
        loop_at_tick_end(&server->flush_hook);
}

/* --- statements of a text --- */

static bool starts_with_word(const char *text, const char *word)
{
    while (*text == ' ' || *text == '\n' || *text == '\t' || *text == '(')
        text++;
    return strncasecmp(text, word, strlen(word)) == 0;
}

/* True when `text` has the word, other than as the end of a longer word (can_update). */
static bool has_word(const char *text, const char *word)
{
    for (const char *at = text; (at = strcasestr(at, word)) != NULL; at++)
        if (at == text || (!ascii_is(at[-1], ASCII_ALNUM) && at[-1] != '_'))
            return true;
    return false;
}

static bool text_writes(const char *text)
{
    static const char *const words[] = {"insert ",
                                        "update ",
                                        "delete ",
                                        "merge ",
                                        "for update",
                                        "for share",
                                        "for no key",
                                        "for key",
                                        "nextval(",
                                        "setval(",
                                        "into "};

    if (!starts_with_word(text, "select") && !starts_with_word(text, "with") &&
        !starts_with_word(text, "values"))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (has_word(text, words[i]))
            return true;
    return false;
}

bool group_is_write(struct db_server *server, const struct sql *sql)
{
    struct trait *trait = &server->traits[sql->hash & (TRAIT_SLOTS - 1)];

    /* A statement without rows runs for its effect, even if it is a SELECT. */
    if (sql->writes || sql->kind == SQL_EXEC)
        return true;
    if (sql->no_prepare)
        return text_writes(sql->text); /* one-off texts have no hash worth remembering */
    if (!trait->known || trait->hash != sql->hash) {
        trait->known = true;
        trait->hash = sql->hash;
        trait->writes = text_writes(sql->text);
    }
    return trait->writes;
}
