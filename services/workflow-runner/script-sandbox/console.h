#pragma once
/* console.log, info, warn, error and debug: each call is one entry of the run's log. */
#include <JavaScriptCore/JavaScript.h>

/* Puts our console in the place of the engine's. */
void console_install(JSGlobalContextRef ctx);
/* A value as a prompt would show it: texts as they are, errors as "Name: message", objects as JSON.
 * Owned. */
JSStringRef console_text(JSContextRef ctx, JSValueRef value);
