#pragma once
/* Rights of the role that works with tables, where another one makes them
 * (GROUNDWORK_DATABASE_DDL_URL). */
#include "db/db.h"

enum { GRANTS_MOST = 3 };

/* co: what follows "create schema" in the same transaction, of db_begin_ddl(): the role of db's own
 * connections may use the schema, and what is made in it from then on. *ret_count is 0 where there
 * is no other role. `schema` is its name, or {p}. Results of db_query(). */
AWAITS int grants_calls(struct task *task,
                        struct db *db,
                        const char *schema,
                        struct db_call calls[GRANTS_MOST],
                        size_t *ret_count) MUSTCHECK;
