#pragma once
/* Rights of the role that daemons connect with, when the role of GROUNDWORK_DATABASE_DDL_URL
 * creates the tables. */
#include "db/db.h"

enum { GRANTS_CALLS_MAX = 3 };

/* co: Makes the calls that must follow "create schema" in the same transaction of db_begin_ddl().
 * The calls allow the role of db's own connections to use the schema and everything that is created
 * in it afterwards. *ret_count is 0 when GROUNDWORK_DATABASE_DDL_URL is not set. `schema`: its
 * name, or {p}. Returns the results of db_query(). */
AWAITS int grants_calls(struct task *task,
                        struct db *db,
                        const char *schema,
                        struct db_call calls[GRANTS_CALLS_MAX],
                        size_t *ret_count) MUSTCHECK;
