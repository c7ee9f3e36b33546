/*
 * Fetches tokens of connections, one request at a time for each connection. In a process, all tasks
 * that need a token wait for the same flight. A flight is a task of its own, because it must store
 * the answer even if all waiters are cancelled: a token server may invalidate the old refresh token
 * when it issues a new one. Between processes, the row has a lease. No transaction is open during
 * the request, and the tokens are stored only under the lease's number.
 */
#include "base/backoff.h"
#include "base/list.h"
#include "integrations/connection_private.h"
#include "integrations_use_sql.h"
#include "json/jr.h"
#include "loop/background.h"

#define LEASE_SECONDS 15    /* longer than the timeout of a request to a token server */
#define FLIGHT_MS     20000 /* includes the wait for another process's lease */

struct token_flight {
    struct list link;
    struct list waiters;
    struct project *project;
    int64_t integration_id;
    struct connection connection; /* read again by the flight: the waiters' copies may be freed */
};
struct token_waiter {
    struct await await;
    struct list link;
};
static struct list flights = {&flights, &flights};

/* --- one flight --- */

AWAITS static int
connection_reload(struct task *task, struct project *project, struct connection *connection)
{
    struct rows rows;

    TRY(db_query(task,
                 &project->db,
                 SQL_CONNECTION_AGAIN(.id = connection->id, .version = connection->version),
                 &rows));
    if (rows.count == 0)
        return INTEGRATION_FAILED;
    TRY(connection_read(task, project, &rows, 0, connection));
    return str_is(connection->status, "active") ? 0 : INTEGRATION_FAILED;
}

int connection_source_load(struct task *task,
                           struct project *project,
                           int64_t id,
                           struct integration_source *ret_source)
{
    struct rows rows;

    TRY(db_query(task,
                 &project->db,
                 SQL_USE_INTEGRATION(.operation = STR(""), .id = id, .name = STR_NONE),
                 &rows));
    if (rows.count == 0)
        return INTEGRATION_FAILED;
    const struct sql_use_integration_row row = sql_use_integration_row(task->arena, &rows, 0);
    *ret_source =
        (struct integration_source){.id = row.id, .name = row.name, .base_url = row.base_url};
    return connection_source_read(
        task, project, ret_source, row.auth, row.sealed, row.client_bound);
}

static struct token_grant grant_of(const struct connection *connection)
{
    if (connection->scheme == SCHEME_OAUTH2_CODE)
        return (struct token_grant){
            .type = "refresh_token",
            .refresh_token = jr_str(connection->secrets, "refresh_token"),
        };
    return (struct token_grant){.type = "client_credentials"};
}

/* co: Fetches a token and stores it. The caller holds the lease. */
AWAITS static int token_refresh(struct task *task,
                                struct project *project,
                                const struct integration_source *source,
                                struct connection *connection,
                                int64_t lease)
{
    const struct token_client client = connection_client(source, connection);
    const struct token_grant grant = grant_of(connection);
    struct token_answer answer = {.error = STR("no_refresh_token")};
    struct rows rows;
    int rc = TOKEN_REFUSED;

    if (connection->scheme == SCHEME_OAUTH2_CLIENT || grant.refresh_token.len)
        rc = token_request(task, &client, &grant, &answer);
    if (rc < 0)
        return rc;
    if (rc > 0) {
        TRY(db_query(task,
                     &project->db,
                     SQL_CONNECTION_REFUSED(.error = answer.error,
                                            .lost = rc == TOKEN_REFUSED,
                                            .id = connection->id,
                                            .version = connection->version,
                                            .lease = lease),
                     NULL));
        return rc;
    }
    connection_set_tokens(connection, &answer);
    struct str sealed = connection_seal(task->arena, project, connection->id, connection->secrets);
    TRY(db_query(task,
                 &project->db,
                 SQL_CONNECTION_STORE(.sealed = sealed,
                                      .expires_in = answer.expires_in < 0
                                                        ? NO_I64
                                                        : some_i64(answer.expires_in),
                                      .id = connection->id,
                                      .version = connection->version,
                                      .lease = lease),
                 &rows));
    return rows.count > 0 ? 0 : INTEGRATION_FAILED;
}

AWAITS static int token_flight_fetch(struct task *task, struct token_flight *flight)
{
    struct backoff pause = {.first_ms = 40, .most_ms = 400};
    struct connection *connection = &flight->connection;
    struct integration_source source;
    struct rows rows;

    for (;;) {
        TRY(connection_reload(task, flight->project, connection));
        if (!connection->token_due)
            return 0;
        TRY(connection_source_load(task, flight->project, flight->integration_id, &source));
        if (connection_fault(task->arena, &source, connection) != NULL)
            return INTEGRATION_FAILED;
        TRY(db_query(task,
                     &flight->project->db,
                     SQL_CONNECTION_LEASE(.seconds = LEASE_SECONDS,
                                          .id = connection->id,
                                          .version = connection->version,
                                          .token_number = connection->token_number),
                     &rows));
        if (rows.count > 0)
            return token_refresh(task,
                                 flight->project,
                                 &source,
                                 connection,
                                 sql_connection_lease_row(&rows, 0).lease);
        TRY(task_sleep(task, backoff_next(&pause)));
    }
}

static void token_flight_run(struct task *task, void *arg)
{
    struct token_flight *flight = arg;
    struct list *node;

    task->project = flight->project->number;
    int rc = token_flight_fetch(task, flight);
    if (rc < 0)
        rc = TOKEN_UNAVAILABLE;
    list_remove(&flight->link);
    while ((node = list_shift(&flight->waiters)) != NULL)
        await_done(&LIST_ITEM(node, struct token_waiter, link)->await, rc);
}

/* --- waiters --- */

static struct token_flight *token_flight_find(const struct project *project, int64_t connection_id)
{
    LIST_FOR (node, &flights) {
        struct token_flight *flight = LIST_ITEM(node, struct token_flight, link);
        if (flight->project->number == project->number && flight->connection.id == connection_id)
            return flight;
    }
    return NULL;
}

static struct token_flight *token_flight_start(struct project *project,
                                               const struct integration_source *source,
                                               const struct connection *connection)
{
    struct background *background = background_new(FLIGHT_MS);
    struct arena *arena = background_arena(background);
    struct token_flight *flight = ARENA_NEW(arena, flight);

    project_hold(arena, project);
    flight->project = project;
    flight->integration_id = source->id;
    flight->connection = (struct connection){.id = connection->id, .version = connection->version};
    list_init(&flight->waiters);
    list_append(&flights, &flight->link);
    background_start(background, token_flight_run, flight);
    return flight;
}

static void token_flight_leave(struct await *await)
{
    list_remove(&CONTAINER_OF(await, struct token_waiter, await)->link);
}

AWAITS static int token_flight_wait(struct task *task, struct token_flight *flight)
{
    struct token_waiter waiter;

    await_init(&waiter.await);
    waiter.await.abandon = token_flight_leave;
    list_init(&waiter.link);
    list_append(&flight->waiters, &waiter.link);
    task_mark_lasting(task);
    return await_wait(task, &waiter.await, 0);
}

static int connection_token_failed(struct task *task, int rc, struct connection_error *ret_error)
{
    if (rc == TOKEN_REFUSED)
        return connection_fail(ret_error,
                               PROBLEM_CONFLICT,
                               task->arena,
                               "The token server refused the connection: enter its credentials "
                               "again, or give the consent again.");
    if (rc == TOKEN_UNAVAILABLE)
        return connection_fail(ret_error,
                               PROBLEM_UNREACHABLE,
                               task->arena,
                               "The token server did not send a valid answer; try again.");
    if (rc == INTEGRATION_FAILED)
        return connection_fail(ret_error,
                               PROBLEM_CONFLICT,
                               task->arena,
                               "The connection was changed, revoked or deleted during the "
                               "request.");
    return rc;
}

int connection_token_ensure(struct task *task,
                            struct project *project,
                            const struct integration_source *source,
                            struct connection *connection,
                            struct connection_error *ret_error)
{
    if (connection->scheme != SCHEME_OAUTH2_CLIENT && connection->scheme != SCHEME_OAUTH2_CODE)
        return 0;
    if (!connection->token_due)
        return 0;
    struct token_flight *flight = token_flight_find(project, connection->id);
    if (flight == NULL)
        flight = token_flight_start(project, source, connection);
    int rc = token_flight_wait(task, flight);
    if (rc == 0) /* the new token is used even if it expires soon */
        rc = connection_reload(task, project, connection);
    return rc == 0 ? 0 : connection_token_failed(task, rc, ret_error);
}

int connection_token_refused(struct task *task,
                             struct project *project,
                             struct connection *connection)
{
    connection->token_due = true;
    return db_query(task,
                    &project->db,
                    SQL_CONNECTION_EXPIRE(.id = connection->id,
                                          .version = connection->version,
                                          .token_number = connection->token_number),
                    NULL);
}
