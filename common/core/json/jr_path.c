/* Finds the path of the value at a byte of a JSON text. */
#include "base/json_scan.h"
#include "base/strbuf.h"
#include "json/jr.h"

#define PATH_BYTES 1024

struct path_level {
    bool array;
    size_t index;
    struct str key; /* as written, without its quotes */
};

static struct str jr_path_print(struct arena *arena, const struct path_level *levels, size_t depth)
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
    struct path_level levels[JR_MAX_DEPTH];
    size_t depth = 0;
    size_t end = 0;

    for (size_t i = 0; i < at && i < text.len; i = end) {
        int c = json_scan(text, &end);
        if (c == '"') {
            if (depth > 0 && !levels[depth - 1].array && end - i >= 2)
                levels[depth - 1].key = (struct str){text.ptr + i + 1, end - i - 2};
        } else if ((c == '{' || c == '[') && depth < JR_MAX_DEPTH) {
            levels[depth++] = (struct path_level){.array = c == '[', .key = STR("")};
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        } else if (c == ',' && depth > 0) {
            levels[depth - 1].index++;
        }
    }
    return jr_path_print(arena, levels, depth);
}
