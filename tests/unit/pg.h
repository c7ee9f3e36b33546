#pragma once
/*
 * A PostgreSQL and a Redis of the test's own, created on first use in a temporary folder, on unix
 * sockets, and removed at exit. Each test program has one instance. All functions block, so
 * coroutines must not call them.
 */
#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/result.h"

/* For a struct db_config: no request fails because the machine is busy. Tests that measure a
 * waiting time set their own limits. */
#define PATIENT .statement_timeout_ms = 60000, .lease_timeout_ms = 60000

static char pg_dir[64];

UNUSED PRINTF_LIKE(1, 2) static int pg_shell(const char *format, ...)
{
    char command[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    return system(command);
}

/* PostgreSQL refuses to run as root. */
static const char *pg_as(void)
{
    return getuid() == 0 ? "runuser -u postgres --" : "";
}

static const char *pg_bin(void)
{
    return "/usr/lib/postgresql/15/bin";
}

/* Forks a child that outlives the test, however the test ends (a failed assertion may abort it),
 * and then removes the server: the end of the pipe is the end of the test. */
static void pg_guard(void)
{
    int ends[2];
    char none;

    if (pipe2(ends, O_CLOEXEC) != 0)
        abort();
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child > 0) {
        (void)close(ends[0]);
        return;
    }
    (void)setsid();
    (void)close(ends[1]);
    (void)!freopen("/dev/null", "w", stdout);
    (void)!freopen("/dev/null", "w", stderr);
    while (read(ends[0], &none, 1) > 0)
        ;
    (void)pg_shell(
        "%s %s/pg_ctl -D %s/data -m immediate stop; rm -rf %s", pg_as(), pg_bin(), pg_dir, pg_dir);
    _exit(0);
}

UNUSED static int pg_start(void)
{
    return pg_shell("%s %s/pg_ctl -D %s/data -w -t 60 -l %s/log start >/dev/null 2>&1",
                    pg_as(),
                    pg_bin(),
                    pg_dir,
                    pg_dir);
}

/* mode: fast, immediate */
UNUSED static int pg_stop(const char *mode)
{
    return pg_shell(
        "%s %s/pg_ctl -D %s/data -w -m %s stop >/dev/null 2>&1", pg_as(), pg_bin(), pg_dir, mode);
}

static void pg_folder(void)
{
    if (pg_dir[0])
        return;
    const char *base = getenv("TMPDIR");
    snprintf(pg_dir, sizeof(pg_dir), "%.40s/gwunitXXXXXX", base ? base : P_tmpdir);
    if (!mkdtemp(pg_dir) || chmod(pg_dir, 0777) != 0)
        abort();
    pg_guard();
}

/* Makes the data folder of a new server. initdb takes seconds of processor time, so the first test
 * program of a build keeps its result, and the others copy it. A program that cannot keep one, for
 * example because the build belongs to another user, runs initdb for itself. Returns 0 on success.
 */
static int pg_data(void)
{
    char program[512] = "";
    char kept[640];
    char lock_path[660];

    (void)readlink("/proc/self/exe", program, sizeof(program) - 1);
    char *name = strrchr(program, '/');
    if (name == NULL)
        return -1;
    *name = '\0';
    /* The name has the version of the server and of the options of initdb. */
    snprintf(kept, sizeof(kept), "%s/postgres-15-1", program);
    snprintf(lock_path, sizeof(lock_path), "%s.lock", kept);
    int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock >= 0)
        (void)flock(lock, LOCK_EX);
    int rc = access(kept, F_OK) == 0 ? pg_shell("cp -a %s %s/data", kept, pg_dir) : -1;
    if (rc != 0) {
        rc = pg_shell("rm -rf %s/data && %s %s/initdb -A trust -U postgres -N --no-locale -E UTF8 "
                      "--wal-segsize=1 -D %s/data >/dev/null 2>&1",
                      pg_dir,
                      pg_as(),
                      pg_bin(),
                      pg_dir);
        if (rc == 0 && lock >= 0)
            (void)pg_shell("kept=%s; rm -rf $kept $kept.new && cp -a %s/data $kept.new && "
                           "mv $kept.new $kept",
                           kept,
                           pg_dir);
    }
    if (lock >= 0)
        (void)close(lock);
    return rc;
}

/* Returns the DSN of the running server, user and database postgres. */
UNUSED static const char *pg_dsn(void)
{
    static char dsn[256];

    if (dsn[0])
        return dsn;
    pg_folder();
    int rc = pg_data();
    rc |= pg_shell("%s sh -c \"echo \\\"fsync=off\nfull_page_writes=off\nlisten_addresses=''"
                   "\nunix_socket_directories='%s'\nmax_connections=40\nlogging_collector=off"
                   "\nshared_buffers=32MB\nmax_wal_size=1GB\ndeadlock_timeout=100ms\\\" >> "
                   "%s/data/postgresql.conf\"",
                   pg_as(),
                   pg_dir,
                   pg_dir);
    if (rc != 0 || pg_start() != 0) {
        fprintf(stderr, "cannot start PostgreSQL in %s\n", pg_dir);
        abort();
    }
    snprintf(dsn, sizeof(dsn), "host=%s user=postgres dbname=postgres", pg_dir);
    return dsn;
}

/* Runs SQL on its own connection; aborts on failure. */
UNUSED static void pg_exec(const char *sql)
{
    PGconn *conn = PQconnectdb(pg_dsn());
    PGresult *result = PQexec(conn, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        fprintf(stderr, "%s: %s\n", sql, PQerrorMessage(conn));
        abort();
    }
    PQclear(result);
    PQfinish(conn);
}

/* --- Redis --- */

static pid_t redis_pid;

UNUSED static void redis_stop(void)
{
    if (redis_pid > 0) {
        (void)kill(redis_pid, SIGKILL);
        (void)waitpid(redis_pid, NULL, 0);
    }
    redis_pid = 0;
}

/* Starts Redis (again) under the same URL. Returns the URL when Redis answers. */
UNUSED static const char *redis_start(void)
{
    static char url[128];
    char path[96];

    pg_folder();
    snprintf(path, sizeof(path), "%s/redis.sock", pg_dir);
    snprintf(url, sizeof(url), "unix:%s", path);
    (void)unlink(path);
    redis_pid = fork();
    if (redis_pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with the test */
        (void)!freopen("/dev/null", "w", stdout);
        execlp("redis-server",
               "redis-server",
               "--port",
               "0",
               "--unixsocket",
               path,
               "--save",
               "",
               "--dir",
               pg_dir,
               (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 6000 && access(path, R_OK | W_OK) != 0; i++)
        usleep(10000);
    return url;
}
