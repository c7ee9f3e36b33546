/* Where in a text a value stands. */
#include "base/strbuf.h"
#include "json/jr.h"

#define PATH_BYTES 1024

struct level {
    bool array;
    size_t index;
    struct str key; /* as written, without its quotes */
};

/* Behind the text that begins at `at`. */
static size_t text_end(struct str text, size_t at)
{
    for (at++; at < text.len && text.ptr[at] != '"'; at++)
        at += text.ptr[at] == '\\' ? 1 : 0;
    return at < text.len ? at + 1 : text.len;
}

static struct str print(struct arena *arena, const struct level *levels, size_t depth)
{
    struct strbuf out;

    strbuf_init(&out, arena, PATH_BYTES);
    for (size_t i = 0; i < depth; i++) {
        if (levels[i].array)
            strbuf_printf(&out, "[%zu]", levels[i].index);
        else
            strbuf_printf(&out, "%s%.*s", out.len ? "." : "", STR_ARG(levels[i].key));
    }
    return out.overflow ? STR("") : strbuf_view(&out);
}

struct str jr_path(struct arena *arena, struct str text, size_t at)
{
    struct level levels[JR_MAX_DEPTH];
    size_t depth = 0;

    for (size_t i = 0; i < at && i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '"') {
            size_t end = text_end(text, i);
            if (depth > 0 && !levels[depth - 1].array && end - i >= 2)
                levels[depth - 1].key = (struct str){text.ptr + i + 1, end - i - 2};
            i = end - 1;
        } else if ((c == '{' || c == '[') && depth < JR_MAX_DEPTH) {
            levels[depth++] = (struct level){.array = c == '[', .key = STR("")};
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        } else if (c == ',' && depth > 0) {
            levels[depth - 1].index++;
        }
    }
    return print(arena, levels, depth);
}
