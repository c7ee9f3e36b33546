/* The engine: contexts, the three ways to read a script, and its value as JSON. The log is in
 * console.c. */
#include "script-sandbox/engine.h"

#include <JavaScriptCore/JavaScript.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/result.h"
#include "script-sandbox/console.h"
#include "script-sandbox/record.h"

/* Runs in every new context before anything else. The returned functions work the same no matter
 * how a script changes the globals: `run` is strict, and its `await` looks up nothing but the
 * promise's own constructor. */
static const char prelude[] =
    "(function () {\n"
    "    'use strict';\n"
    "    for (const name of ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'ShadowRealm'])\n"
    "        delete globalThis[name];\n"
    "    return {\n"
    "        AsyncFunction: (async function () {}).constructor,\n"
    "        run: async function (body, svc, text, done, fail) {\n"
    "            let value;\n"
    "            try {\n"
    "                value = await body(svc, text);\n"
    "            } catch (error) {\n"
    "                fail(error);\n"
    "                return;\n"
    "            }\n"
    "            done(value);\n"
    "        },\n"
    "    };\n"
    "})()";

/* Uses features that take long at their first use: code of the engine's own built-ins, locale data,
 * the garbage collector. */
static const char warm_up[] =
    "(async () => {\n"
    "    const text = new Date(0).toString() + new Date(0).toLocaleString() + "
    "(1234.5).toLocaleString() + 'a'.localeCompare('b');\n"
    "    const list = Array.from({length: 50}, (_, i) => ({i, text}));\n"
    "    const [first, ...rest] = list.map((x) => ({...x})).filter((x) => x.i % 2).sort((a, b) => "
    "b.i - a.i);\n"
    "    const index = new Map(rest.map((x) => [x.i, x]));\n"
    "    new Set(index.keys()); Object.entries(first); list.reduce((sum, x) => sum + x.i, 0); "
    "list.find((x) => x.i === 5);\n"
    "    JSON.stringify(JSON.parse(JSON.stringify(list))); 'a-b'.replace(/-/g, "
    "'+').split('+').join(); `${first.i}`;\n"
    "    class A { #x = 1; get x() { return this.#x; } } new A().x; Promise.all([1, 2]);\n"
    "    try { null.x; } catch (error) { String(error) + error.stack; }\n"
    "    await null;\n"
    "})()";

/* Lines that `new AsyncFunction(parameter, text)` puts before the text. */
#define CONSTRUCTOR_LINES 2
/* Number of contexts that are dropped between two garbage collections. */
#define CONTEXTS_PER_COLLECTION 16

static JSContextGroupRef context_group;
static struct fresh {
    JSGlobalContextRef ctx;
    JSObjectRef tools;
} next_context;

/* --- small tools --- */

static JSValueRef evaluate_script(JSContextRef ctx, const char *source)
{
    JSStringRef text = JSStringCreateWithUTF8CString(source);
    JSValueRef value = JSEvaluateScript(ctx, text, NULL, NULL, 1, NULL);

    JSStringRelease(text);
    return value;
}

static JSValueRef get_property(JSContextRef ctx, JSObjectRef object, const char *name)
{
    JSStringRef key = JSStringCreateWithUTF8CString(name);
    JSValueRef exception = NULL;
    JSValueRef value = JSObjectGetProperty(ctx, object, key, &exception);

    JSStringRelease(key);
    return exception ? JSValueMakeUndefined(ctx) : value;
}

static JSObjectRef get_object(JSContextRef ctx, JSObjectRef object, const char *name)
{
    return JSValueToObject(ctx, get_property(ctx, object, name), NULL);
}

static JSValueRef new_text(JSContextRef ctx, const char *utf8)
{
    JSStringRef text = JSStringCreateWithUTF8CString(utf8);
    JSValueRef value = JSValueMakeString(ctx, text);

    JSStringRelease(text);
    return value;
}

/* --- answers --- */

static _Noreturn void answer_and_exit(const struct text *answer)
{
    record_write(RECORD_ANSWER, answer);
    _exit(0);
}

static void begin_failure(struct text *answer, const char *code)
{
    text_cstr(answer, "\"ok\":false,\"code\":\"");
    text_cstr(answer, code);
    text_cstr(answer, "\",\"message\":");
}

static _Noreturn void engine_fail(const char *code, const char *message)
{
    struct text answer = {0};

    begin_failure(&answer, code);
    text_cstr(&answer, "\"");
    text_cstr(&answer, message); /* our own text, in which nothing needs escaping */
    text_cstr(&answer, "\"");
    answer_and_exit(&answer);
}

static bool is_no_memory(JSStringRef message)
{
    return JSStringIsEqualToUTF8CString(message, "RangeError: Out of memory") ||
           JSStringIsEqualToUTF8CString(message, "RangeError: Array buffer allocation failed");
}

/* Ends the run with an exception. `offset`: the number of lines that precede the script's first
 * line. */
static _Noreturn void
engine_fail_with(JSContextRef ctx, const char *code, JSValueRef exception, int offset)
{
    struct text answer = {0};
    double line = 0;
    JSStringRef message = console_text(ctx, exception);

    if (is_no_memory(message))
        code = "script_memory";
    begin_failure(&answer, code);
    text_quoted(
        &answer, JSStringGetCharactersPtr(message), JSStringGetLength(message), MESSAGE_BYTES);
    if (JSValueIsObject(ctx, exception)) {
        JSValueRef value = get_property(ctx, JSValueToObject(ctx, exception, NULL), "line");

        if (JSValueIsNumber(ctx, value))
            line = JSValueToNumber(ctx, value, NULL) - offset;
    }
    if (line >= 1 && line < 1e6) {
        text_cstr(&answer, ",\"line\":");
        text_int(&answer, (int64_t)line);
    }
    answer_and_exit(&answer);
}

/* --- reading a script --- */

struct script {
    JSObjectRef body; /* async function of $svc and the text */
    int offset;
};

static JSObjectRef compile(JSContextRef ctx,
                           const char *before,
                           const char *text,
                           const char *after,
                           JSValueRef *ret_exception)
{
    struct text source = {0};
    JSValueRef arguments[2];

    text_cstr(&source, before);
    text_cstr(&source, text);
    text_add(&source, after, strlen(after) + 1);
    arguments[0] = new_text(ctx, "$svc");
    arguments[1] = new_text(ctx, source.ptr);
    free(source.ptr);
    *ret_exception = NULL;
    return JSObjectCallAsConstructor(
        ctx, get_object(ctx, next_context.tools, "AsyncFunction"), 2, arguments, ret_exception);
}

static bool compiles(JSContextRef ctx, const char *before, const char *text, const char *after)
{
    JSValueRef exception;

    return compile(ctx, before, text, after, &exception) != NULL;
}

/* Whether the text consists of statements that use neither `return` nor `await` at their top level.
 * The word `await` may also be part of a string or of an inner async function. A static block
 * allows both of these and no other `await`. */
static bool is_program(JSContextRef ctx, const char *text)
{
    JSStringRef source = JSStringCreateWithUTF8CString(text);
    bool yes = JSCheckScriptSyntax(ctx, source, NULL, 1, NULL);

    JSStringRelease(source);
    return yes && (!strstr(text, "await") || compiles(ctx, "class A { static {\n", text, "\n} }"));
}

static struct script read_script(JSContextRef ctx, const char *text)
{
    struct script script = {.offset = CONSTRUCTOR_LINES + 1};
    JSValueRef exception;

    /* An expression compiles in parentheses and in brackets. "1); (2" compiles only in
     * parentheses. */
    if (compiles(ctx, "return [\n", text, "\n]"))
        script.body = compile(ctx, "return (\n", text, "\n)", &exception);
    if (script.body)
        return script;
    script.offset = CONSTRUCTOR_LINES;
    if (is_program(ctx, text)) {
        script.offset = 0;
        script.body = compile(ctx, "return eval(arguments[1])", "", "", &exception);
    } else {
        script.body = compile(ctx, "", text, "", &exception);
        if (!script.body)
            engine_fail_with(ctx, "script_error", exception, script.offset);
    }
    return script;
}

/* --- run --- */

static struct outcome {
    bool settled;
    bool failed;
    JSValueRef value;
} outcome;

static JSValueRef
engine_settle(JSContextRef ctx, bool failed, size_t count, const JSValueRef arguments[])
{
    if (!outcome.settled && count > 0) {
        JSValueProtect(ctx, arguments[0]);
        outcome = (struct outcome){.settled = true, .failed = failed, .value = arguments[0]};
    }
    return JSValueMakeUndefined(ctx);
}

static JSValueRef on_done(JSContextRef ctx,
                          JSObjectRef function UNUSED,
                          JSObjectRef self UNUSED,
                          size_t count,
                          const JSValueRef arguments[],
                          JSValueRef *exception UNUSED)
{
    return engine_settle(ctx, false, count, arguments);
}

static JSValueRef on_fail(JSContextRef ctx,
                          JSObjectRef function UNUSED,
                          JSObjectRef self UNUSED,
                          size_t count,
                          const JSValueRef arguments[],
                          JSValueRef *exception UNUSED)
{
    return engine_settle(ctx, true, count, arguments);
}

static char *utf8_of(JSContextRef ctx, JSValueRef value)
{
    JSStringRef text = JSValueToStringCopy(ctx, value, NULL);
    size_t size = JSStringGetMaximumUTF8CStringSize(text);
    char *utf8 = malloc(size);

    if (!utf8)
        _exit(EXIT_NO_MEMORY);
    JSStringGetUTF8CString(text, utf8, size);
    JSStringRelease(text);
    return utf8;
}

static _Noreturn void answer_value(JSContextRef ctx, JSValueRef value)
{
    struct text answer = {0};
    JSValueRef exception = NULL;
    JSStringRef json = JSValueCreateJSONString(ctx, value, 0, &exception);

    if (!json && exception)
        engine_fail_with(ctx, "script_result", exception, 0);
    text_cstr(&answer, "\"ok\":true,\"result\":");
    if (!json) { /* undefined, a function or a symbol */
        text_cstr(&answer, "null");
        answer_and_exit(&answer);
    }
    const char *why = text_json(&answer, JSStringGetCharactersPtr(json), JSStringGetLength(json));
    if (why)
        engine_fail("script_result", why);
    answer_and_exit(&answer);
}

static JSObjectRef parse_request(JSContextRef ctx, const char *request)
{
    JSStringRef text = JSStringCreateWithUTF8CString(request);
    JSValueRef value = JSValueMakeFromJSONString(ctx, text);

    JSStringRelease(text);
    if (!value || !JSValueIsObject(ctx, value))
        engine_fail("script_error", "the request is not a JSON object");
    return JSValueToObject(ctx, value, NULL);
}

void engine_run(const char *request)
{
    JSContextRef ctx = next_context.ctx;
    JSObjectRef message = parse_request(ctx, request);
    JSValueRef text = get_property(ctx, message, "script");

    if (!JSValueIsString(ctx, text))
        engine_fail("script_error", "the request has no script");

    struct script script = read_script(ctx, utf8_of(ctx, text));
    JSObjectRef done = JSObjectMakeFunctionWithCallback(ctx, NULL, on_done);
    JSObjectRef failed = JSObjectMakeFunctionWithCallback(ctx, NULL, on_fail);
    const JSValueRef arguments[] = {
        script.body, get_property(ctx, message, "svc"), text, done, failed};
    /* When this call returns, every promise that can settle has settled. */
    JSObjectCallAsFunction(ctx,
                           get_object(ctx, next_context.tools, "run"),
                           NULL,
                           ARRAY_LEN(arguments),
                           arguments,
                           NULL);
    if (!outcome.settled)
        engine_fail("script_error", "the script waits for a promise that never settles");
    if (outcome.failed)
        engine_fail_with(ctx, "script_error", outcome.value, script.offset);
    answer_value(ctx, outcome.value);
}

/* --- contexts --- */

/* Does once what every run does, and leaves nothing that a script could see. */
void engine_warm_up(void)
{
    JSContextRef ctx = next_context.ctx;
    JSObjectRef done = JSObjectMakeFunctionWithCallback(ctx, NULL, on_done);
    struct script script = read_script(ctx, "return {}"); /* tries all three ways */
    JSObjectRef value = parse_request(ctx, "{\"a\":[{}]}");
    const JSValueRef arguments[] = {script.body, value, new_text(ctx, ""), done, done};

    JSObjectCallAsFunction(ctx,
                           get_object(ctx, next_context.tools, "run"),
                           NULL,
                           ARRAY_LEN(arguments),
                           arguments,
                           NULL);
    JSStringRelease(JSValueCreateJSONString(ctx, value, 0, NULL));
    JSValueUnprotect(ctx, outcome.value);
    outcome = (struct outcome){0};
}

void engine_refresh(void)
{
    static unsigned dropped;

    if (next_context.ctx) {
        JSValueUnprotect(next_context.ctx, next_context.tools);
        if (++dropped % CONTEXTS_PER_COLLECTION == 0)
            JSGarbageCollect(next_context.ctx);
        JSGlobalContextRelease(next_context.ctx);
    }
    next_context.ctx = JSGlobalContextCreateInGroup(context_group, NULL);
    console_install(next_context.ctx);
    next_context.tools =
        JSValueToObject(next_context.ctx, evaluate_script(next_context.ctx, prelude), NULL);
    JSValueProtect(next_context.ctx, next_context.tools);
}

void engine_start(void)
{
    JSGlobalContextRef ctx;

    context_group = JSContextGroupCreate();
    ctx = JSGlobalContextCreateInGroup(context_group, NULL);
    evaluate_script(ctx, warm_up);
    JSGarbageCollect(ctx);
    JSGlobalContextRelease(ctx);
    engine_refresh();
}
