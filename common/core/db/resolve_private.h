#pragma once
/* Hosts of a DSN, looked up off the loop. */
struct db_conn;
struct resolve;

/* Calls done(conn, hosts, addresses, ports) with lists for libpq, or done(conn, NULL, reason,
 * NULL). */
typedef void (*resolve_fn)(struct db_conn *conn,
                           const char *hosts,
                           const char *addresses,
                           const char *ports);
/* Sets conn->resolve; frees itself after done() (which may come at once) or resolve_cancel(). */
void resolve_start(struct db_conn *conn, const char *hosts, const char *ports, resolve_fn done);
/* done() will not be called. */
void resolve_cancel(struct resolve *resolve);
