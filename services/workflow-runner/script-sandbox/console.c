/* The console of a script, whose calls write the script's log. */
#include "script-sandbox/console.h"

#include <stdlib.h>

#include "base/result.h"
#include "script-sandbox/record.h"

static unsigned entries;

/* --- values --- */

static JSValueRef call_global(JSContextRef ctx, const char *path, JSValueRef value)
{
    JSStringRef source = JSStringCreateWithUTF8CString(path);
    JSValueRef function = JSEvaluateScript(ctx, source, NULL, NULL, 1, NULL);

    JSStringRelease(source);
    return function && JSValueIsObject(ctx, function)
               ? JSObjectCallAsFunction(
                     ctx, JSValueToObject(ctx, function, NULL), NULL, 1, &value, NULL)
               : NULL;
}

static JSStringRef plain_text(JSContextRef ctx, JSValueRef value)
{
    JSValueRef text = value;

    if (JSValueIsSymbol(ctx, value))
        text = call_global(ctx, "(x) => x.toString()", value);
    else if (JSValueIsBigInt(ctx, value))
        text = call_global(ctx, "(x) => x + 'n'", value);

    JSStringRef string = text ? JSValueToStringCopy(ctx, text, NULL) : NULL;

    return string ? string
                  : JSStringCreateWithUTF8CString("[a value that cannot be converted to a text]");
}

static bool is_error(JSContextRef ctx, JSObjectRef object)
{
    JSValueRef yes = call_global(ctx, "(x) => Error.prototype.isPrototypeOf(x)", object);

    return yes && JSValueToBoolean(ctx, yes);
}

JSStringRef console_text(JSContextRef ctx, JSValueRef value)
{
    JSStringRef json;

    if (!JSValueIsObject(ctx, value))
        return plain_text(ctx, value);
    JSObjectRef object = JSValueToObject(ctx, value, NULL);
    if (JSObjectIsFunction(ctx, object) || is_error(ctx, object))
        return plain_text(ctx, value);
    json = JSValueCreateJSONString(ctx, value, 0, NULL);
    return json ? json : plain_text(ctx, value);
}

/* --- entries --- */

/* Appends a text to the line, cut to what an entry can show. Releases the text. */
static void console_put(struct text *line, JSStringRef text)
{
    size_t units = JSStringGetLength(text);

    if (units > LOG_ENTRY_BYTES + 1)
        units = LOG_ENTRY_BYTES + 1;
    text_add(line, JSStringGetCharactersPtr(text), units * sizeof(JSChar));
    JSStringRelease(text);
}

static JSValueRef on_log(JSContextRef ctx,
                         JSObjectRef function UNUSED,
                         JSObjectRef self UNUSED,
                         size_t count,
                         const JSValueRef arguments[],
                         JSValueRef *exception UNUSED)
{
    static const uint16_t space = ' ';
    struct text line = {0}; /* UTF-16 */
    struct text entry = {0};

    if (++entries <= LOG_ENTRIES_MAX) {
        for (size_t i = 0; i < count && line.len <= LOG_ENTRY_BYTES * sizeof(JSChar); i++) {
            if (i > 0)
                text_add(&line, &space, sizeof(space));
            console_put(&line, console_text(ctx, arguments[i]));
        }
        text_quoted(&entry,
                    (const uint16_t *)(const void *)line.ptr,
                    line.len / sizeof(JSChar),
                    LOG_ENTRY_BYTES);
        record_write(RECORD_LOG, &entry);
        free(line.ptr);
        free(entry.ptr);
    }
    return JSValueMakeUndefined(ctx);
}

void console_install(JSGlobalContextRef ctx)
{
    static const char *const names[] = {"log", "info", "warn", "error", "debug"};
    JSObjectRef console = JSObjectMake(ctx, NULL, NULL);
    JSStringRef key;

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        key = JSStringCreateWithUTF8CString(names[i]);
        JSObjectSetProperty(ctx,
                            console,
                            key,
                            JSObjectMakeFunctionWithCallback(ctx, key, on_log),
                            kJSPropertyAttributeNone,
                            NULL);
        JSStringRelease(key);
    }
    key = JSStringCreateWithUTF8CString("console");
    JSObjectSetProperty(
        ctx, JSContextGetGlobalObject(ctx), key, console, kJSPropertyAttributeDontEnum, NULL);
    JSStringRelease(key);
}
