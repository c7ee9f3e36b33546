/* The main() that all daemons share: command line, configuration, one-shot jobs, workers. */
#include "app/daemon.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/health_private.h"
#include "app/supervisor_private.h"
#include "app/watch_private.h"
#include "base/harden.h"
#include "base/panic.h"
#include "bus/bus.h"
#include "db/answer.h"
#include "fetch/fetch.h"
#include "log/log.h"
#include "loop/loop.h"
#include "loop/signals.h"
#include "loop/work.h"
#include "metrics/metrics.h"
#include "metrics/shares_metrics.h"
#include "project/upkeep.h"
#include "redis/redis.h"

#define DEPENDENCY_WAIT_MS   5000
#define LARGE_BLOCK_BYTES    (512 * 1024)
#define FREE_MEMORY_BYTES    (8U << 20) /* free memory that a worker may keep */
#define FREE_MEMORY_CHECK_MS 1000
#define PUBLIC_VARIABLES     "GROUNDWORK_HOST, GROUNDWORK_PORT"
#define ADMIN_VARIABLES      "GROUNDWORK_ADMIN_HOST, GROUNDWORK_ADMIN_PORT"
#define EXIT_TIMEOUT_MS      2000 /* added to the drain timeout, before SIGKILL */

extern char **environ;

static struct app app;
static int admin_port;
static int public_fds[WORKERS_MAX]; /* of each worker; the supervisor has all of them */
static int admin_fds[WORKERS_MAX];
static int exit_code;
static struct loop_timer free_memory_timer;
static bool had_free_memory; /* more than FREE_MEMORY_BYTES were free at the last check */

struct app *daemon_app(void)
{
    return &app;
}

/* --- dependencies --- */

/* A statement may wait for a connection for a fifth of the time that it may run, from 1 to 10
 * seconds. Where statements may take long, connections of the pool become free late. */
static int64_t lease_timeout_ms(int64_t statement_timeout_ms)
{
    int64_t fifth_ms = statement_timeout_ms / 5;

    if (fifth_ms < 1000)
        return 1000;
    return fifth_ms < 10000 ? fifth_ms : 10000;
}

static void open_dependencies(void)
{
    const struct conf_common *conf = app.conf;
    struct directory_config config = {
        .control_dsn = conf->database_url.ptr,
        .db = {.dsn = conf->database_url.ptr,
               .ddl_dsn = conf->database_ddl_url.ptr,
               .read_connections = (unsigned)conf->db_read_connections,
               .write_connections = (unsigned)conf->db_write_connections,
               .busy_share = (unsigned)conf->db_busy_share,
               .processes = (unsigned)conf->workers,
               .statement_timeout_ms = conf->statement_timeout_ms,
               .lease_timeout_ms = lease_timeout_ms(conf->statement_timeout_ms)},
        .record_bytes = (int64_t)conf->record_bytes,
    };
    struct aead_key old_master_key = {0};
    struct fetch_config fetch = {.allow = conf->fetch_allow.items,
                                 .nallow = conf->fetch_allow.count,
                                 .max_in_flight = app.daemon->fetch_slots,
                                 .ca_file = conf->fetch_ca_file.ptr,
                                 .budget_bytes = app.daemon->fetch_bytes};

    memcpy(config.master_key.bytes, conf->master_key.ptr, sizeof(config.master_key.bytes));
    if (conf->master_key_old.ptr) {
        memcpy(old_master_key.bytes, conf->master_key_old.ptr, sizeof(old_master_key.bytes));
        config.old_master_keys = &old_master_key;
        config.old_master_key_count = 1;
    }
    fetch_init(&fetch);
    db_answers_init(&(struct answers_config){.per_answer = (uint64_t)conf->answer_bytes,
                                             .per_process = (uint64_t)conf->requests_bytes});
    app.redis = redis_new(conf->redis_url.items, conf->redis_url.count);
    if (!app.redis) {
        fprintf(
            stderr,
            "%s: GROUNDWORK_REDIS_URL must be redis://[user:password@]host[:port][/database] or "
            "unix:/path\n",
            app.daemon->name);
        exit(EXIT_CONFIG);
    }
    config.redis = app.redis;
    app.bus = bus_new(app.redis);
    config.bus = app.bus;
    app.directory = directory_new(&config);
    aead_key_wipe(&config.master_key);
    aead_key_wipe(&old_master_key);
}

static void close_dependencies(void)
{
    directory_free(app.directory);
    bus_free(app.bus);
    redis_free(app.redis);
    fetch_done();
    signals_close();
    loop_stop();
}

AWAITS static bool wait_redis(struct task *task)
{
    for (int tries = 0; !redis_up(app.redis) && tries < 50; tries++) {
        if (task_sleep(task, 20) != 0)
            break;
    }
    return redis_up(app.redis);
}

/* co: Prints one clear line when PostgreSQL or Redis cannot be reached. */
AWAITS static int wait_dependencies(struct task *task)
{
    struct str reason = STR_NONE;
    int rc =
        db_server_wait(task, directory_control(app.directory)->server, DEPENDENCY_WAIT_MS, &reason);

    if (rc) {
        fprintf(stderr,
                "%s: PostgreSQL cannot be reached (GROUNDWORK_DATABASE_URL): %.*s\n",
                app.daemon->name,
                STR_ARG(reason));
        return EXIT_DEPENDENCY;
    }
    if (!wait_redis(task)) {
        fprintf(stderr, "%s: Redis cannot be reached (GROUNDWORK_REDIS_URL)\n", app.daemon->name);
        return EXIT_DEPENDENCY;
    }
    return 0;
}

/* --- one-shot jobs: --check, --migrate and what the daemon adds --- */

static void daemon_say(const char *text)
{
    puts(text);
    fflush(stdout);
}

static enum log_level log_level_configured(void)
{
    return (enum log_level)log_level_parse(app.conf->log_level);
}

static void run_probe(struct task *task, void *arg UNUSED)
{
    exit_code = wait_dependencies(task);
    close_dependencies();
}

static void daemon_run_check(struct task *task, void *arg UNUSED)
{
    exit_code = wait_dependencies(task);
    if (!exit_code)
        daemon_say("configuration, PostgreSQL and Redis are fine");
    close_dependencies();
}

static const struct daemon_job migrate_job = {
    .name = "--migrate",
    .run = migrate_all,
};
static const struct daemon_job *job; /* requested on the command line */
static const char *job_argument;     /* NULL = none */

struct str daemon_job_argument(void)
{
    return job_argument != NULL ? str_from(job_argument) : STR_NONE;
}

static void run_job(struct task *task, void *arg UNUSED)
{
    struct str reason = STR_NONE;

    exit_code = wait_dependencies(task);
    log_init(app.daemon->name, log_level_configured());
    if (!exit_code && job->run(task, app.directory, daemon_say, &reason) != 0) {
        fprintf(stderr, "%s: %s failed: %.*s\n", app.daemon->name, job->name, STR_ARG(reason));
        exit_code = 1;
    }
    close_dependencies();
}

/* Until the dependencies answer, only errors are logged: a failure prints one line, not a log. */
static int run_once(task_fn fn)
{
    struct task task = {.arena = arena_new(0)};

    log_init(app.daemon->name, LOG_ERROR);
    loop_init();
    open_dependencies();
    task_start(&task, fn, NULL);
    loop_run();
    arena_free(task.arena);
    return exit_code;
}

/* Runs before the workers start, so that a start that cannot succeed ends here. Needs a process of
 * its own, because a loop does not survive a fork. */
static int probe_dependencies(void)
{
    int status = 0;
    pid_t pid = fork();

    MUST(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        exit(run_once(run_probe));
    }
    while (waitpid(pid, &status, 0) < 0)
        MUST(errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* --- a worker --- */

static void daemon_on_drained(void *arg UNUSED)
{
    loop_timer_stop(&free_memory_timer);
    app.daemon->stop(&app);
    health_stop(&app);
    close_dependencies();
}

static void on_stop_signal(int signum UNUSED, void *arg UNUSED)
{
    if (app.draining)
        return;
    app.draining = true;
    log_info("worker.draining");
    if (!app.started) { /* no work could be in progress */
        log_flush();
        _exit(0);
    }
    app.daemon->drain(&app, daemon_on_drained, NULL);
}

static void on_hangup(int signum UNUSED, void *arg UNUSED)
{
    /* The configuration comes from the environment, so there is nothing to reload. */
    log_info("worker.hangup_ignored");
}

static void start_worker(struct task *task, void *arg UNUSED)
{
    struct str reason = STR_NONE;

    /* A worker serves without Redis as well, only more slowly. */
    (void)wait_redis(task);
    if (db_server_wait(task, directory_control(app.directory)->server, DEPENDENCY_WAIT_MS, NULL))
        exit_code = EXIT_DEPENDENCY;
    if (!exit_code && (health_start(&app) != 0)) {
        fprintf(stderr, "%s: the admin port %d cannot be used\n", app.daemon->name, admin_port);
        exit_code = EXIT_CONFIG;
    }
    if (!exit_code && app.daemon->start(task, &app, &reason) != 0) {
        fprintf(stderr, "%s: %.*s\n", app.daemon->name, STR_ARG(reason));
        exit_code = EXIT_CONFIG;
    }
    if (exit_code) {
        log_flush();
        _exit(exit_code);
    }
    app.started = true;
    supervisor_ready();
    log_info("worker.ready", L_I64("worker", app.worker), L_I64("admin_port", admin_port));
}

/* By default, when the first large block is freed, glibc raises its mmap threshold and keeps such
 * blocks from then on: a thread that has hashed a password would keep 19 MiB. glibc also collects
 * small free blocks (M_MXFAST). When a large block is later allocated or freed, glibc merges all of
 * them at once, which can hold the loop for ten milliseconds and more. */
static void tune_malloc(void)
{
    (void)mallopt(M_MXFAST, 0);
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK_BYTES);
    (void)mallopt(M_ARENA_MAX, 1);
}

/* Memory freed by rows of many kilobytes lies between smaller blocks in use, so free() does not
 * return it to the system. Only memory that was also free at the last check is returned, because a
 * busy worker would soon allocate it again. */
static void on_free_memory_check(void *arg UNUSED)
{
    bool spare = mallinfo2().fordblks > FREE_MEMORY_BYTES;

    if (spare && had_free_memory)
        (void)malloc_trim(0);
    had_free_memory = spare;
    loop_timer_start(&free_memory_timer, FREE_MEMORY_CHECK_MS);
}

static void close_listeners(unsigned but);

static int worker_main(unsigned worker)
{
    struct task task = {.arena = arena_new(0)};

    tune_malloc();
    app.worker = worker;
    app.listen_fd = public_fds[worker];
    app.admin_fd = admin_fds[worker];
    close_listeners(worker);
    metrics_worker(worker);
    loop_init();
    signals_on(SIGTERM, on_stop_signal, NULL);
    signals_on(SIGINT, on_stop_signal, NULL);
    signals_on(SIGHUP, on_hangup, NULL);
    work_divide_hashes((unsigned)app.conf->workers);
    open_dependencies();
    loop_timer_init(&free_memory_timer, on_free_memory_check, NULL);
    loop_timer_start(&free_memory_timer, FREE_MEMORY_CHECK_MS);
    watch_start();
    task_start(&task, start_worker, NULL);
    loop_run();
    arena_free(task.arena);
    log_info("worker.ended");
    log_flush();
    return exit_code;
}

/* --- command line --- */

#define HELP_COLUMN 22

static int print_help(const struct daemon *daemon)
{
    printf("%s: %s\n\nusage: %s [flag]\n\n"
           "  --help                this text\n"
           "  --help-config         every configuration variable (=markdown: as a table)\n"
           "  --check               test the configuration and its dependencies, then exit\n"
           "  --migrate             bring the database up to date, then exit\n",
           daemon->name,
           daemon->about,
           daemon->name);
    for (const struct daemon_flag *flag = daemon->flags; flag && flag->name; flag++)
        printf("  %-20s  %s\n", flag->name, flag->text);
    for (const struct daemon_job *it = daemon->jobs; it && it->name; it++) {
        int width = printf("  %s %s", it->name, it->argument ? it->argument : "");
        printf("%*s  %s\n", width < HELP_COLUMN ? HELP_COLUMN - width : 0, "", it->text);
    }
    return 0;
}

static const struct daemon_job *find_job(const char *name, const struct daemon *daemon)
{
    if (strcmp(name, migrate_job.name) == 0)
        return &migrate_job;
    for (const struct daemon_job *it = daemon->jobs; it && it->name; it++) {
        if (strcmp(name, it->name) == 0)
            return it;
    }
    return NULL;
}

/* Runs a flag that needs no configuration. Returns -1 when the arguments are no such flag. */
static int run_plain_flag(int argc, char **argv, const struct daemon *daemon)
{
    enum conf_help form = conf_help_from_args(argc, argv);

    if (form != CONF_HELP_NONE) {
        struct arena *arena = arena_new(0);
        struct str text = conf_help(arena, daemon->conf, form);
        fwrite(text.ptr, 1, text.len, stdout);
        arena_free(arena);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return print_help(daemon);
    for (const struct daemon_flag *flag = daemon->flags; flag && flag->name; flag++) {
        if (argc == 2 && strcmp(argv[1], flag->name) == 0)
            return flag->run();
    }
    return -1;
}

/* Opens one listening socket per worker and port. The supervisor holds all of them: connections to
 * a worker that dies wait for its successor, and the kernel distributes connections evenly. With
 * one shared socket no connection would depend on a successor, but the worker that wakes first
 * would accept a whole burst. */
static int listen_per_worker(const char *host, int port, int *fds, unsigned workers)
{
    for (unsigned i = 0; i < workers; i++) {
        fds[i] = http_listen(host, port);
        if (fds[i] < 0)
            return fds[i];
        port = http_listen_port(fds[i]);
    }
    return 0;
}

static int print_listen_error(const char *host, int port, const char *variables, int rc)
{
    fprintf(stderr,
            "%s: cannot listen on %s:%d (%s): %s\n",
            app.daemon->name,
            host,
            port,
            variables,
            strerror(-rc));
    return EXIT_CONFIG;
}

static int listen_all(const struct conf_common *conf)
{
    unsigned workers = (unsigned)conf->workers + app.daemon->extra_workers;
    int rc = 0;

    if (!app.daemon->portless)
        rc = listen_per_worker(conf->host.ptr, conf->port, public_fds, workers);
    if (rc != 0)
        return print_listen_error(conf->host.ptr, conf->port, PUBLIC_VARIABLES, rc);
    rc = listen_per_worker(conf->admin_host.ptr, conf->admin_port, admin_fds, workers);
    if (rc != 0)
        return print_listen_error(conf->admin_host.ptr, conf->admin_port, ADMIN_VARIABLES, rc);
    admin_port = http_listen_port(admin_fds[0]);
    return 0;
}

/* Closes the listeners of all workers except one; WORKERS_MAX: of all. */
static void close_listeners(unsigned but)
{
    for (unsigned i = 0; i < WORKERS_MAX; i++) {
        if (i == but)
            continue;
        if (public_fds[i] > 0)
            (void)close(public_fds[i]);
        if (admin_fds[i] > 0)
            (void)close(admin_fds[i]);
    }
}

/* While the workers end, new clients are refused and do not wait. */
static void on_supervisor_stop(void)
{
    close_listeners(WORKERS_MAX);
}

/* Checks both ports first, so that another process on a port gives one clear line. */
static int check_ports(const struct conf_common *conf)
{
    const struct {
        const char *host;
        int port;
        const char *variables;
    } ports[] = {
        {conf->host.ptr, conf->port, PUBLIC_VARIABLES},
        {conf->admin_host.ptr, conf->admin_port, ADMIN_VARIABLES},
    };

    for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
        bool used = ports[i].port != 0 && (i > 0 || !app.daemon->portless);
        int rc = used ? http_address_check(ports[i].host, ports[i].port) : 0;
        if (rc != 0)
            return print_listen_error(ports[i].host, ports[i].port, ports[i].variables, rc);
    }
    if (!app.daemon->portless && conf->port != 0 && conf->port == conf->admin_port &&
        str_eq(conf->host, conf->admin_host)) /* sockets share ports: both would get connections */
        return print_listen_error(conf->admin_host.ptr,
                                  conf->admin_port,
                                  PUBLIC_VARIABLES ", " ADMIN_VARIABLES,
                                  -EADDRINUSE);
    return 0;
}

/* Checks the bounds of variables, then the daemon's own rules. Returns NULL when all is fine. */
static const char *config_load(struct arena *arena, const struct daemon *daemon, void *ret_conf)
{
    const char *error = conf_load(arena, daemon->conf, environ, ret_conf);

    return !error && daemon->check ? daemon->check(ret_conf) : error;
}

int daemon_main(int argc, char **argv, const struct daemon *daemon)
{
    static struct arena *arena; /* lives as long as the process */
    struct conf_common *conf;
    const char *error;
    int code;

    harden_process();
    code = run_plain_flag(argc, argv, daemon);
    if (code >= 0)
        return code;
    job = argc >= 2 ? find_job(argv[1], daemon) : NULL;
    job_argument = argc == 3 && job && job->argument ? argv[2] : NULL;
    if (argc > (job_argument ? 3 : 2) || (argc == 2 && !job && strcmp(argv[1], "--check") != 0)) {
        fprintf(
            stderr, "%s: unknown flag '%s'; see %s --help\n", daemon->name, argv[1], daemon->name);
        return EXIT_CONFIG;
    }
    arena = arena_new(0);
    conf = arena_zalloc(arena, daemon->conf->bytes);
    error = config_load(arena, daemon, conf);
    harden_hide(conf, daemon->conf->bytes);
    harden_hide(conf->master_key.ptr, conf->master_key.len);
    harden_hide(conf->master_key_old.ptr, conf->master_key_old.len);
    if (error) {
        fprintf(stderr, "%s: %s\n", daemon->name, error);
        return EXIT_CONFIG;
    }
    app.daemon = daemon;
    app.conf = conf;
    if (argc >= 2)
        return run_once(job ? run_job : daemon_run_check);
    code = check_ports(conf);
    if (code == 0)
        code = probe_dependencies();
    if (code != 0)
        return code;
    log_init(daemon->name, log_level_configured());
    code = listen_all(conf);
    if (code != 0)
        return code;
    health_prepare();
    watch_prepare();
    if (daemon->prepare)
        daemon->prepare(conf);
    unsigned workers = (unsigned)conf->workers + daemon->extra_workers;
    metrics_share(workers);
    shares_metrics_share(workers);
    return supervisor_run(
        workers, conf->drain_timeout_ms + EXIT_TIMEOUT_MS, worker_main, on_supervisor_stop);
}
