#pragma once
/*
 * Scripts of RunScript steps, run by a few warm script-sandbox processes (script-sandbox/main.c),
 * which fork for each script: nothing that one does is left for the next. One pool per process,
 * loop thread only.
 *
 * Processes start when they are first needed, serve one script at a time, and leave after some
 * runs, after sixty seconds without work and whenever something about them is odd.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"
#include "loop/task.h"

struct script_pool_config {
    const char *program;  /* NULL = script-sandbox beside this program */
    unsigned processes;   /* at most, 0 = 2 */
    unsigned waiting;     /* scripts of one project that may wait for a process, 0 = 1000 */
    int64_t memory_bytes; /* that a script may take with its $svc, 0 = 64 MB */
    unsigned runs;        /* of one process, 0 = 1000 */
    int64_t idle_ms;      /* 0 = 60 s */
};

struct script_request {
    struct str text;   /* the script, UTF-8 */
    const json_t *svc; /* $svc; borrowed during the call */
    int64_t time_ms;   /* 1.., counted from where the script begins */
};

/* All of it belongs to the task's arena. */
struct script_result {
    bool ok;
    json_t *value; /* ok: what the script gave, JSON null for nothing */
    struct str
        code; /* else: script_error, script_timeout, script_memory, script_result, script_crashed */
    struct str message; /* of at most about 2 KB, to be shown to the author */
    int64_t line;       /* 1.., 0 = not known */
    json_t *log; /* array of at most 100 texts of at most 2 KB, also of a script that failed */
};

struct script_pool_stats {
    uint64_t runs, failures, timeouts, memory, crashes; /* failures: all that were not ok */
    uint64_t spawned;                                   /* processes so far */
    unsigned alive, busy, waiting; /* processes, scripts running, scripts waiting */
};

/* any: NULL, or the path of the program (as config.program names it) when it cannot be executed,
 * with the reason in errno. */
const char *script_pool_check(const char *given);
/* any: once after loop_init(), before the first run; copies what is given. Starts nothing. */
void script_pool_init(const struct script_pool_config *given);
/* co: runs one script. 0 with *ret filled, also when the script failed; -EAGAIN when too many wait;
 * -ECANCELED or -ETIMEDOUT of the task, and the script is gone; another negative when no process
 * can be started. */
AWAITS int script_run(struct task *task,
                      const struct script_request *request,
                      struct script_result *ret) MUSTCHECK;
/* any: ends idle processes now and the others after their run; later runs are refused with
 * -ESHUTDOWN. */
void script_pool_drain(void);
/* any: counters since script_pool_init(). */
void script_pool_stats(struct script_pool_stats *ret);
