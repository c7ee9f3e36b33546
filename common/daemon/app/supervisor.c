/* Parent process of a daemon: fork, wait, restart with backoff, stop. No loop, no threads. */
#include "app/supervisor_private.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/panic.h"
#include "log/log.h"

#define RESTART_FIRST_MS 50
#define RESTART_MOST_MS  5000

struct child {
    pid_t pid; /* 0 = not running */
    int64_t started_ms;
    int64_t restart_ms; /* monotonic time of the next start */
    struct backoff backoff;
};

static struct child children[WORKERS_MAX];
static atomic_bool *ever_ready; /* shared with the workers */
static volatile sig_atomic_t stop_signal;

static void on_stop(int signum)
{
    stop_signal = signum;
}

static void supervisor_on_wake(int signum UNUSED)
{
    /* only interrupts the wait */
}

static void catch_signal(int signum, void (*fn)(int))
{
    struct sigaction action = {.sa_handler = fn};

    sigemptyset(&action.sa_mask);
    MUST(sigaction(signum, &action, NULL) == 0);
}

static void supervisor_start_child(unsigned worker, supervisor_fn fn)
{
    struct child *child = &children[worker];
    pid_t parent = getpid();
    pid_t pid;

    log_flush();
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(0);
        catch_signal(SIGTERM, SIG_DFL);
        catch_signal(SIGINT, SIG_DFL);
        catch_signal(SIGHUP, SIG_DFL);
        catch_signal(SIGCHLD, SIG_DFL);
        exit(fn(worker));
    }
    if (pid < 0) {
        log_error("supervisor.fork_failed", L_I64("errno", errno));
        child->restart_ms = clock_mono_ms() + RESTART_MOST_MS;
        return;
    }
    child->pid = pid;
    child->started_ms = clock_mono_ms();
}

static struct child *child_of(pid_t pid, unsigned workers)
{
    for (unsigned i = 0; i < workers; i++) {
        if (children[i].pid == pid)
            return &children[i];
    }
    return NULL;
}

static void child_record_exit(struct child *child, int status)
{
    int64_t lived_ms = clock_mono_ms() - child->started_ms;

    log_error("worker.died",
              L_I64("worker", child - children),
              L_I64("pid", child->pid),
              L_I64("exit_code", WIFEXITED(status) ? WEXITSTATUS(status) : -1),
              L_I64("signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0));
    child->pid = 0;
    child->backoff.first_ms = RESTART_FIRST_MS;
    child->backoff.most_ms = RESTART_MOST_MS;
    if (lived_ms > 10000)
        child->backoff.tries = 0;
    child->restart_ms = clock_mono_ms() + backoff_next(&child->backoff);
}

/* Whether the first start cannot succeed, so that the operator must act. Later, workers restart. */
static bool supervisor_is_final(int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

    return !atomic_load(ever_ready) && (code == EXIT_CONFIG || code == EXIT_DEPENDENCY);
}

static void kill_all(unsigned workers, int signum)
{
    for (unsigned i = 0; i < workers; i++) {
        if (children[i].pid)
            kill(children[i].pid, signum);
    }
}

static bool has_running_child(unsigned workers)
{
    for (unsigned i = 0; i < workers; i++) {
        if (children[i].pid)
            return true;
    }
    return false;
}

static void loop_sleep(void)
{
    struct timespec delay = {.tv_nsec = 20L * 1000 * 1000};

    nanosleep(&delay, NULL);
}

static int stop_all(unsigned workers, long timeout_ms)
{
    int64_t last_ms = clock_mono_ms() + timeout_ms;
    int code = 0;
    int status;
    pid_t pid;

    kill_all(workers, SIGTERM);
    while (has_running_child(workers)) {
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            struct child *child = child_of(pid, workers);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                code = 1;
                if (child)
                    child_record_exit(child, status);
            }
            if (child)
                child->pid = 0;
        }
        if (clock_mono_ms() > last_ms) {
            log_error("supervisor.killed_workers");
            kill_all(workers, SIGKILL);
            last_ms += 1000;
        }
        loop_sleep();
    }
    return code;
}

int supervisor_run(unsigned workers, long timeout_ms, supervisor_fn fn, void (*stopping)(void))
{
    int status;
    pid_t pid;

    MUST(workers <= WORKERS_MAX);
    ever_ready =
        mmap(NULL, sizeof(*ever_ready), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(ever_ready != MAP_FAILED);
    catch_signal(SIGTERM, on_stop);
    catch_signal(SIGINT, on_stop);
    catch_signal(SIGHUP, supervisor_on_wake);
    catch_signal(SIGCHLD, supervisor_on_wake);
    while (!stop_signal) {
        for (unsigned i = 0; i < workers; i++) {
            if (!children[i].pid && clock_mono_ms() >= children[i].restart_ms)
                supervisor_start_child(i, fn);
        }
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            struct child *child = child_of(pid, workers);
            if (child && supervisor_is_final(status)) {
                child->pid = 0;
                stop_all(workers, 1000);
                return WEXITSTATUS(status);
            }
            if (child)
                child_record_exit(child, status);
        }
        loop_sleep();
    }
    stopping();
    return stop_all(workers, timeout_ms);
}

void supervisor_ready(void)
{
    if (ever_ready)
        atomic_store(ever_ready, true);
}
