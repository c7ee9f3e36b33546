/* Prints places as text. */
#include "workflow/json_path_private.h"

#include "base/strbuf.h"
#include "base/utf8.h"

#define PLACE_DEPTH 80 /* deeper than any document that the JSON reader accepts */
#define PATH_BYTES  2048
#define NAME_BYTES  200 /* bytes that are shown of one name */

static void print_part(struct strbuf *out, const struct json_path *part)
{
    if (part->name.ptr != NULL) {
        if (out->len > 0 && !str_starts(part->name, STR("["))) /* a path like "[0].name" */
            strbuf_char(out, '.');
        strbuf_str(out, utf8_cut(part->name, NAME_BYTES));
        return;
    }
    strbuf_printf(out, "[%zu]", part->index);
    if (part->label.len > 0)
        strbuf_printf(out, " (%.*s)", STR_ARG(utf8_cut(part->label, NAME_BYTES)));
}

struct str json_path_print(struct arena *arena, const struct json_path *path)
{
    const struct json_path *chain[PLACE_DEPTH];
    size_t count = 0;
    struct strbuf out;

    for (; path != NULL && count < PLACE_DEPTH; path = path->parent)
        chain[count++] = path;
    strbuf_init(&out, arena, PATH_BYTES);
    while (count > 0)
        print_part(&out, chain[--count]);
    return strbuf_view(&out);
}
