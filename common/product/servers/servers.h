#pragma once
/*
 * The database servers: the server of the control schema, and the servers that hold projects, by
 * name (platform.projects.server). Loop thread only.
 */
#include "base/map.h"
#include "db/db.h"

struct servers {
    struct db_config template; /* of all servers; dsn is main's; only main has a ddl_dsn */
    struct map *by_name;       /* name -> struct db_server, owned */
    struct db control;         /* the control schema, autocommit */
    bool is_control_on_main;   /* the control schema is on "main" */
};

/* Fills *servers with the server "main". The control schema is on it too, unless control_dsn (may
 * be NULL) names another server. */
void servers_open(struct servers *servers, const struct db_config *config, const char *control_dsn);
/* any: Adds a server that may hold projects. The name must be new. */
void servers_add(struct servers *servers, const char *name, const char *dsn);
/* any: Returns a server, borrowed; NULL = unknown. */
struct db_server *servers_find(const struct servers *servers, struct str name);
/* any: Closes all servers. */
void servers_close(struct servers *servers);
