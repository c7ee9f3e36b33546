/* Database servers by name. */
#include "servers/servers.h"

#include "base/panic.h"

void servers_open(struct servers *servers, const struct db_config *config, const char *control_dsn)
{
    *servers = (struct servers){.template = *config, .by_name = map_new()};
    servers_add(servers, "main", config->dsn);
    servers->template.ddl_dsn = NULL; /* only for main */
    servers->is_control_on_main = control_dsn == NULL || str_is(str_from(control_dsn), config->dsn);
    if (servers->is_control_on_main) {
        servers->control.server = servers_find(servers, STR("main"));
    } else {
        struct db_config control = servers->template;
        control.dsn = control_dsn;
        servers->control.server = db_server_new("control", &control);
    }
}

void servers_add(struct servers *servers, const char *name, const char *dsn)
{
    struct db_config config = servers->template;

    config.dsn = dsn;
    MUST(map_get(servers->by_name, str_from(name)) == NULL);
    (void)map_put(servers->by_name, str_from(name), db_server_new(name, &config));
}

struct db_server *servers_find(const struct servers *servers, struct str name)
{
    return map_get(servers->by_name, name);
}

void servers_close(struct servers *servers)
{
    struct str key;
    void *server;

    for (size_t cursor = 0; map_next(servers->by_name, &cursor, &key, &server);)
        db_server_free(server);
    if (!servers->is_control_on_main)
        db_server_free(servers->control.server);
    map_free(servers->by_name);
}
