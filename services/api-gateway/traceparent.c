/* The caller's trace context (W3C Trace Context, section 3.2), checked before it goes anywhere. */
#include "app.h"

#define TRACE_CHARS  55 /* version 00: "00-<trace id>-<parent id>-<flags>" */
#define TRACE_ID_AT  3
#define TRACE_ID_LEN 32
#define PARENT_AT    36
#define PARENT_LEN   16
#define FLAGS_AT     53

/* Lower case only. */
static bool is_hex(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
            return false;
    }
    return true;
}

static bool is_zero(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '0')
            return false;
    }
    return true;
}

static bool traceparent_is_id(struct str text)
{
    return is_hex(text) && !is_zero(text);
}

/* Versions to come may say more behind a '-'; ff is none. */
static bool is_traceparent(struct str text)
{
    if (text.len < TRACE_CHARS)
        return false;

    struct str version = {text.ptr, 2};
    bool longer = text.len > TRACE_CHARS;
    if (!is_hex(version) || str_is(version, "ff"))
        return false;
    if (longer && (str_is(version, "00") || text.ptr[TRACE_CHARS] != '-'))
        return false;
    return text.ptr[TRACE_ID_AT - 1] == '-' && text.ptr[PARENT_AT - 1] == '-' &&
           text.ptr[FLAGS_AT - 1] == '-' &&
           traceparent_is_id((struct str){text.ptr + TRACE_ID_AT, TRACE_ID_LEN}) &&
           traceparent_is_id((struct str){text.ptr + PARENT_AT, PARENT_LEN}) &&
           is_hex((struct str){text.ptr + FLAGS_AT, 2});
}

struct str gateway_traceparent(struct req *r)
{
    struct str found = STR_NONE;

    for (size_t i = 0; i < r->header_count; i++) {
        if (!str_ieq(r->headers[i].name, STR("traceparent")))
            continue;
        if (found.ptr)
            return STR_NONE; /* two of them: neither is believed */
        found = r->headers[i].value;
    }
    if (!is_traceparent(found))
        return STR_NONE;
    if (str_starts(found, STR("00")))
        return found;
    return arena_printf(r->task.arena, "00%.*s", TRACE_CHARS - 2, found.ptr + 2);
}
