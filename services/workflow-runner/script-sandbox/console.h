#pragma once
/* The console of a script: each call of console.log, info, warn, error or debug is one entry of the
 * run's log. */
#include <JavaScriptCore/JavaScript.h>

/* Replaces the engine's console by ours. */
void console_install(JSGlobalContextRef ctx);
/* The value as an interactive prompt would show it: texts as they are, errors as "Name: message",
 * objects as JSON. The caller owns the result. */
JSStringRef console_text(JSContextRef ctx, JSValueRef value);
