#pragma once
/*
 * Where data lives: the control schema, and the servers that projects are on, by name
 * (platform.projects.server). Loop thread.
 */
#include "base/map.h"
#include "db/db.h"

struct servers {
    struct db_config template; /* of all of them; its dsn is main's, who alone has a ddl_dsn */
    struct map *by_name;       /* struct db_server, owned */
    struct db control;         /* autocommit */
    bool control_shared;       /* its server is "main" */
};

/* Fills it: "main" is there, and the control schema is on it unless control_dsn (may be NULL) names
 * another server. */
void servers_open(struct servers *servers, const struct db_config *config, const char *control_dsn);
/* any: one more that projects may live on. */
void servers_add(struct servers *servers, const char *name, const char *dsn);
/* any: NULL = unknown. */
struct db_server *servers_find(const struct servers *servers, struct str name);
/* any: closes all. */
void servers_close(struct servers *servers);
