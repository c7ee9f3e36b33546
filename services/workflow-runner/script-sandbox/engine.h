#pragma once
/*
 * JavaScriptCore: one virtual machine, and a context in which no script has run yet. The waiting
 * process never evaluates a script. Its child runs exactly one script, in the context that the
 * parent made, and ends.
 */
#include <stddef.h>

/* Warms the engine up, so that it has loaded and compiled what the first script of each kind needs,
 * and makes the first context. */
void engine_start(void);
/* Makes a new context for the next child, with its own seed of Math.random(). */
void engine_refresh(void);
/* Call in the child: does once what every run does, so that the real run finds the engine warm. */
void engine_warm_up(void);
/* Runs {"script","svc"} (UTF-8 JSON, NUL-terminated), writes records to fd 1 and ends the process.
 * The script finds the context in $svc. Its result depends on its form:
 * - an expression: its value
 * - statements: the value of the last one, as in eval_param()
 * - the body of an async function, because it has `return` or `await` at its top level: what it
 *   returns
 * When the result is a promise, its value is awaited. */
_Noreturn void engine_run(const char *request);
