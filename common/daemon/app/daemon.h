#pragma once
/*
 * The one main() of all daemons: command line, configuration, supervisor with WORKERS processes,
 * loop, directory, Redis, admin port (/healthz /readyz /metrics), signals, drain.
 *
 *   int main(int argc, char **argv) { return daemon_main(argc, argv, &gateway); }
 *
 * Command line: --help, --help-config[=markdown], --check (configuration and dependencies),
 * --migrate, and what the daemon adds (--list-routes, --rotate-data-keys). Exit codes: 0 ended as
 * asked, 1 a job failed, 2 bad command line or configuration, 3 a dependency cannot be reached.
 */
#include <stdbool.h>
#include <stddef.h>

#include "conf/conf.h"
#include "http/server.h"
#include "project/project.h"

struct daemon;

/* What a worker has when start() runs; one per process. */
struct app {
    const struct daemon *daemon;
    /* Cast to the daemon's struct app_conf, whose first member it is. */
    const struct conf_common *conf;
    unsigned worker; /* index, from 0 */
    int listen_fd;   /* for http_config; 0 when the daemon is portless */
    int admin_fd;
    struct directory *directory;
    struct redis *redis;
    struct bus *bus; /* a daemon that consumes stops it in its drain */
    struct http_server *admin;
    bool started; /* this worker serves */
    bool draining;
};

struct daemon_flag {
    const char *name; /* "--list-routes"; NULL ends the array */
    const char *text;
    int (*run)(void); /* no configuration is read; returns the exit code */
};

/* What an operator has done once, instead of serving; dependencies are up. */
struct daemon_job {
    const char *name; /* "--rotate-data-keys"; NULL ends the array */
    const char *text;
    /* co: progress goes to say(). 0, or non-zero with *ret_reason. */
    int (*run)(struct task *task, /* AWAITS */
               struct directory *directory,
               void (*say)(const char *text),
               struct str *ret_reason);
    const char *argument; /* what may follow its name, for --help: "[PROJECT]"; NULL = nothing */
};

struct daemon {
    const char *name;
    const char *about; /* one line for --help */
    const struct conf_spec *conf;
    const struct daemon_flag *flags; /* may be NULL */
    const struct daemon_job *jobs;   /* may be NULL */
    uint64_t fetch_bytes;            /* fetch_config.max_arriving_bytes; 0 = its default */
    unsigned fetch_slots;            /* fetch_config.max_in_flight; 0 = its default */
    bool portless;                   /* listens on its admin port alone */
    unsigned extra_workers; /* besides WORKERS, for something else: indexes from WORKERS on */
    /* any, before anything else, also for --check: what is wrong with the configuration beyond the
     * bounds of its variables, as the end of one line; NULL = nothing. May be NULL. */
    const char *(*check)(const struct conf_common *conf);
    /* In the parent before fork: metrics are registered here. May be NULL. */
    void (*prepare)(const struct conf_common *conf);
    /* co: in each worker, once the database answers. Non-zero with *ret_reason ends the process. */
    int (*start)(struct task *task, struct app *app, struct str *ret_reason); /* AWAITS */
    /* any: stop taking work; call done(arg) when nothing is left, at most drain_timeout_ms
     * later. */
    void (*drain)(struct app *app, loop_fn done, void *arg);
    /* any: frees what start() made; the loop ends afterwards. */
    void (*stop)(struct app *app);
    /* any: sets gauges before /metrics is printed. May be NULL. */
    void (*measure)(struct app *app);
};

int daemon_main(int argc, char **argv, const struct daemon *daemon);
/* What followed the job's name; STR_NONE: nothing did. */
struct str daemon_job_argument(void);
/* The worker's app; valid from start() on. */
struct app *daemon_app(void);
