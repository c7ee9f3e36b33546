#pragma once
/*
 * JavaScriptCore: one virtual machine, and a context that no script has run in yet. The waiting
 * process never evaluates a script; its child runs exactly one in the context that the parent made,
 * and ends.
 */
#include <stddef.h>

/* Warms the engine up (what a first script of each kind would load or compile) and makes the first
 * context. */
void engine_start(void);
/* A new context for the next child, with its own seed of Math.random(). */
void engine_refresh(void);
/* In the child: does once what every run does, so that the first real one finds it warm. */
void engine_practise(void);
/* Runs {"script","svc"} (UTF-8 JSON, NUL-terminated), writes records to fd 1, ends the process. The
 * context is $svc, and the result of a script that is
 * - an expression: its value
 * - statements: the value of the last one, as eval() has it
 * - the body of an async function, because `return` or `await` stands at its top level: what it
 *   returns
 * A promise is waited for. */
_Noreturn void engine_run(const char *request);
