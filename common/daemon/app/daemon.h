#pragma once
/*
 * The main() that all daemons share: command line, configuration, supervisor with WORKERS
 * processes, loop, directory, Redis, admin port (/healthz /readyz /metrics), signals, drain.
 *
 *   int main(int argc, char **argv) { return daemon_main(argc, argv, &gateway); }
 *
 * Command line: --help, --help-config[=markdown], --check (configuration and dependencies),
 * --migrate, and the daemon's own flags (--list-routes, --rotate-data-keys). Exit codes: 0 success,
 * 1 a job failed, 2 bad command line or configuration, 3 a dependency cannot be reached.
 */
#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "http/server.h"
#include "project/project.h"

struct daemon;

/* State of a worker process, complete when start() runs. One per process. */
struct app {
    const struct daemon *daemon;
    /* May be cast to the daemon's struct app_conf, whose first member is this struct. */
    const struct conf_common *conf;
    unsigned worker; /* index, from 0 */
    int listen_fd;   /* for http_config; 0 in a portless daemon */
    int admin_fd;
    struct directory *directory;
    struct redis *redis;
    struct bus *bus; /* a daemon that consumes events stops the bus in its drain */
    struct http_server *admin;
    bool started; /* this worker accepts work */
    bool draining;
};

struct daemon_flag {
    const char *name; /* "--list-routes"; NULL ends the array */
    const char *text;
    int (*run)(void); /* runs without reading the configuration; returns the exit code */
};

/* A one-shot job that an operator runs in place of the service. Dependencies are reachable. */
struct daemon_job {
    const char *name; /* "--rotate-data-keys"; NULL ends the array */
    const char *text;
    /* co: Reports progress to say(). Returns 0, or non-zero with *ret_reason. */
    int (*run)(struct task *task, /* AWAITS */
               struct directory *directory,
               void (*say)(const char *text),
               struct str *ret_reason);
    const char *argument; /* optional, after the name; as in --help: "[PROJECT]"; NULL = none */
};

struct daemon {
    const char *name;
    const char *about; /* one line for --help */
    const struct conf_spec *conf;
    const struct daemon_flag *flags; /* may be NULL */
    const struct daemon_job *jobs;   /* may be NULL */
    uint64_t fetch_bytes;            /* fetch_config.budget_bytes; 0 = its default */
    unsigned fetch_slots;            /* fetch_config.max_in_flight; 0 = its default */
    bool portless;                   /* has no public port, only the admin port */
    unsigned extra_workers; /* in addition to WORKERS, for other work; indexes start at WORKERS */
    /* any: Runs first, also for --check. Returns what is wrong with the configuration beyond the
     * bounds of single variables, as the end of a line, or NULL. May be NULL. */
    const char *(*check)(const struct conf_common *conf);
    /* Runs in the parent process before the fork, to register metrics. May be NULL. */
    void (*prepare)(const struct conf_common *conf);
    /* co: Runs in each worker once the database answers. A non-zero result with *ret_reason ends
     * the process. */
    int (*start)(struct task *task, struct app *app, struct str *ret_reason); /* AWAITS */
    /* any: Stops taking work and calls done(arg) when no work is left, at most drain_timeout_ms
     * later. */
    void (*drain)(struct app *app, loop_fn done, void *arg);
    /* any: Frees what start() has made. The loop ends afterwards. */
    void (*stop)(struct app *app);
    /* any: Sets gauges before /metrics is printed. May be NULL. */
    void (*measure)(struct app *app);
};

/* Runs the daemon. Blocks until it ends; returns the exit code of the process. */
int daemon_main(int argc, char **argv, const struct daemon *daemon);
/* The argument of the running job; STR_NONE when there is none. */
struct str daemon_job_argument(void);
/* State of this worker; valid from start() on. */
struct app *daemon_app(void);
