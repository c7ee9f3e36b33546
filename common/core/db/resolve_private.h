#pragma once
/* Looks up the hosts of a DSN off the loop. */
struct db_conn;
struct resolve;

/* The result of a lookup: (conn, hosts, addresses, ports) with lists for libpq, or (conn, NULL,
 * reason, NULL). */
typedef void (*resolve_fn)(struct db_conn *conn,
                           const char *hosts,
                           const char *addresses,
                           const char *ports);
/* Sets conn->resolve and calls done() once, perhaps before it returns. The lookup frees itself
 * after done() or resolve_cancel(). */
void resolve_start(struct db_conn *conn, const char *hosts, const char *ports, resolve_fn done);
/* Ends the lookup without a call of done(). */
void resolve_cancel(struct resolve *resolve);
