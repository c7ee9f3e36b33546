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
#define WAIT_MOST_MS     60000 /* between checks of the workers without a signal */

struct child {
    pid_t pid; /* 0 = not running */
    int64_t started_ms;
    int64_t restart_ms; /* monotonic time of the next start */
    struct backoff backoff;
};

static struct child children[WORKERS_MAX];
static atomic_bool *ever_ready; /* shared with the workers */
static bool is_stopping;
static sigset_t awaited; /* signals that the parent takes with sigtimedwait() only */

static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};

/* Blocks the signals. A blocked signal waits for sigtimedwait(): none is lost between a check of
 * the workers and the next wait. */
static void signals_block(void)
{
    sigemptyset(&awaited);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        MUST(sigaddset(&awaited, signals[i]) == 0);
    MUST(sigprocmask(SIG_BLOCK, &awaited, NULL) == 0);
}

/* In a worker. */
static void signals_restore(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        MUST(sigaction(signals[i], &action, NULL) == 0);
    MUST(sigprocmask(SIG_UNBLOCK, &awaited, NULL) == 0);
}

/* Takes a signal. Waits for one at most until a monotonic time. */
static void signal_wait(int64_t until_ms)
{
    int64_t left_ms = until_ms - clock_mono_ms();
    int64_t wait_ms = left_ms > 0 ? left_ms : 0;
    struct timespec time = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};

    int signum = sigtimedwait(&awaited, NULL, &time);
    if (signum == SIGTERM || signum == SIGINT)
        is_stopping = true;
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
        signals_restore();
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

/* Returns the monotonic time at which a worker that is not running is started again, or a later
 * time when all workers run. */
static int64_t next_start_ms(unsigned workers)
{
    int64_t next = clock_mono_ms() + WAIT_MOST_MS;

    for (unsigned i = 0; i < workers; i++)
        if (!children[i].pid && children[i].restart_ms < next)
            next = children[i].restart_ms;
    return next;
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
        if (has_running_child(workers))
            signal_wait(last_ms + 1);
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
    signals_block();
    while (!is_stopping) {
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
        signal_wait(next_start_ms(workers));
    }
    stopping();
    return stop_all(workers, timeout_ms);
}

void supervisor_ready(void)
{
    if (ever_ready)
        atomic_store(ever_ready, true);
}
