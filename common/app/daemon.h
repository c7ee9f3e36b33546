#pragma once
/*
 * The one main() of all daemons: command line, configuration, supervisor with WORKERS processes, loop,
 * directory, Redis, admin port (/healthz /readyz /metrics), signals, drain.
 *
 *   int main(int argc, char **argv) { return daemon_main(argc, argv, &gateway); }
 *
 * Command line: --help, --version, --help-config[=markdown], --check (configuration and dependencies),
 * --migrate, and what the daemon adds (--list-routes).
 */
#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "domain/project.h"
#include "http/server.h"

struct daemon;

/* What a worker has when start() runs. */
struct app {
    const struct daemon *daemon;
    const void *conf;             /* the daemon's whole configuration struct */
    unsigned worker;              /* index, from 0 */
    struct directory *directory;
    struct redis *redis;
    struct http_server *admin;
};

struct daemon_flag {
    const char *name;             /* "--list-routes"; NULL ends the array */
    const char *text;
    int (*run)(const void *conf); /* conf is NULL: no configuration is read; returns the exit code */
};

struct daemon {
    const char *name;
    const char *about;            /* one line for --help */
    const struct conf_item *items;
    size_t item_count;
    size_t conf_bytes;
    size_t conf_common_offset;    /* of the struct of common.def inside it */
    const struct daemon_flag *flags;
    /* In the parent before fork: metrics are registered here. */
    void (*prepare)(const void *conf);
    /* co: in each worker, dependencies are up. Non-zero with *ret_reason ends the process. */
    int (*start)(struct task *task, struct app *app, struct str *ret_reason); /* AWAITS */
    /* any: stop taking work; call done(arg) when nothing is left (at most drain_timeout_ms). */
    void (*drain)(struct app *app, loop_fn done, void *arg);
    /* any: writes extra members of /readyz; false = not ready. May be NULL. */
    bool (*ready)(struct app *app, struct jw *w);
};

int daemon_main(int argc, char **argv, const struct daemon *daemon);
/* The worker's app; valid after start. */
struct app *daemon_app(void);
