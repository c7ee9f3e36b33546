#pragma once
/*
 * Runs the scripts of RunScript steps in a few warm script-sandbox processes
 * (script-sandbox/main.c). The processes fork for each script, so a script leaves nothing to the
 * next one. One pool per process, loop thread only.
 *
 * Processes start when they are first needed and serve one script at a time. A process ends after
 * `runs` scripts, after `idle_ms` without work, or when its answers break the protocol.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"
#include "loop/task.h"

struct script_pool_config {
    const char *program;  /* NULL = script-sandbox in the directory of this program */
    unsigned processes;   /* at most, 0 = 2 */
    unsigned waiting;     /* scripts of one project that may wait for a process, 0 = 1000 */
    int64_t memory_bytes; /* that a script may use, its $svc included; 0 = 64 MB */
    unsigned runs;        /* scripts per process, 0 = 1000 */
    int64_t idle_ms;      /* 0 = 60 s */
};

struct script_request {
    struct str text;   /* the script, UTF-8 */
    const json_t *svc; /* $svc; borrowed during the call */
    int64_t time_ms;   /* at least 1, counted from where the script begins */
};

/* The values belong to the task's arena. */
struct script_result {
    bool ok;
    json_t *value;      /* if ok: the script's result, JSON null for nothing */
    struct str code;    /* if not ok: script_error, script_timeout, script_memory, script_result,
                           script_crashed */
    struct str message; /* at most about 2 KB, shown to the author of the script */
    int64_t line;       /* 1.., 0 = not known */
    json_t *log; /* array of at most 100 texts of at most 2 KB each, also when the script failed */
};

struct script_pool_stats {
    uint64_t runs, failures, timeouts, memory, crashes; /* failures: all runs that were not ok */
    uint64_t spawned;                                   /* processes started so far */
    unsigned alive, busy, waiting; /* processes, scripts running, scripts waiting */
};

/* any: Checks whether the program (`given` as config.program) can be executed. NULL, or the
 * program's path with the reason in errno. The path is valid until the next call. */
const char *script_pool_check(const char *given);
/* any: Call once after loop_init(), before the first run. Copies the configuration and starts no
 * process. */
void script_pool_init(const struct script_pool_config *given);
/* co: Runs one script. 0 with *ret filled, also when the script failed; -EAGAIN when too many
 * scripts of the project wait; -ESHUTDOWN after script_pool_drain(); -ECANCELED or -ETIMEDOUT of
 * the task, which kill the script; another negative when no process can be started. */
AWAITS int script_run(struct task *task,
                      const struct script_request *request,
                      struct script_result *ret) MUSTCHECK;
/* any: Ends idle processes now and running processes after their run. Later runs are refused with
 * -ESHUTDOWN. */
void script_pool_drain(void);
/* any: Copies the counters since script_pool_init(). */
void script_pool_stats(struct script_pool_stats *ret);
