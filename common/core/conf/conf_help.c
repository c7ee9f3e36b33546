/* Describes the entries: --help-config, the README table, and the "must be ..." of error
 * messages. */
#include <inttypes.h>

#include "base/strbuf.h"
#include "conf/conf_private.h"

#define HELP_BYTES_MAX 1048576U

const char *conf_variable(struct arena *arena, const struct conf_item *item)
{
    return arena_upper(arena, arena_printf(arena, CONF_PREFIX "%s", item->name)).ptr;
}

bool conf_is_secret(const struct conf_item *item)
{
    return item->kind == CONF_KIND_SECRET || item->kind == CONF_KIND_KEY;
}

/* Returns "1 to 64", or "32" when both bounds are equal. */
static const char *conf_range_text(struct arena *arena, const struct conf_item *item)
{
    if (item->min == item->max)
        return arena_printf(arena, "%" PRId64, item->min).ptr;
    return arena_printf(arena, "%" PRId64 " to %" PRId64, item->min, item->max).ptr;
}

const char *conf_allowed_text(struct arena *arena, const struct conf_item *item)
{
    const char *bounds = conf_range_text(arena, item);

    switch (item->kind) {
    case CONF_KIND_STR:
        return arena_printf(arena, "a text of %s bytes", bounds).ptr;
    case CONF_KIND_SECRET:
        return arena_printf(arena, "a secret of %s bytes", bounds).ptr;
    case CONF_KIND_KEY:
        return arena_printf(arena, "%s bytes in base64 or lower-case hexadecimal", bounds).ptr;
    case CONF_KIND_LIST:
        return arena_printf(arena, "%s entries separated by commas", bounds).ptr;
    case CONF_KIND_CHOICE:
        return arena_printf(arena, "one of %s", item->choices).ptr;
    case CONF_KIND_BOOL:
        return "true or false";
    case CONF_KIND_INT:
        return arena_printf(arena, "a whole number from %s", bounds).ptr;
    case CONF_KIND_MS:
        return arena_printf(arena, "milliseconds from %s", bounds).ptr;
    case CONF_KIND_BYTES:
        return arena_printf(arena, "bytes from %s (K, M or G may follow)", bounds).ptr;
    }
    return "";
}

enum conf_help conf_help_from_args(int argc, char *const *argv)
{
    for (int i = 1; i < argc; i++) {
        if (str_is(STR("--help-config"), argv[i]))
            return CONF_HELP_TEXT;
        if (str_is(STR("--help-config=markdown"), argv[i]))
            return CONF_HELP_MARKDOWN;
    }
    return CONF_HELP_NONE;
}

static void describe_text(struct strbuf *out, const struct conf_item *item)
{
    const char *variable = conf_variable(out->arena, item);

    if (item->fallback == CONF_REQUIRED)
        strbuf_printf(out, "%s (required)\n", variable);
    else if (item->fallback == CONF_OPTIONAL)
        strbuf_printf(out, "%s (optional)\n", variable);
    else
        strbuf_printf(out, "%s=%s\n", variable, conf_is_secret(item) ? "" : item->fallback);
    strbuf_printf(out, "    %s.\n", item->text);
    strbuf_printf(out, "    Must be %s", conf_allowed_text(out->arena, item));
    if (conf_is_secret(item))
        strbuf_printf(out, "; or %s_FILE names a file that contains it", variable);
    strbuf_cstr(out, ".\n");
}

static void describe_row(struct strbuf *out, const struct conf_item *item)
{
    const char *variable = conf_variable(out->arena, item);

    strbuf_printf(out, "| `%s`", variable);
    if (conf_is_secret(item))
        strbuf_printf(out, " or `%s_FILE`", variable);
    if (item->fallback == CONF_REQUIRED)
        strbuf_cstr(out, " | required");
    else if (item->fallback == CONF_OPTIONAL || conf_is_secret(item))
        strbuf_cstr(out, " | ");
    else
        strbuf_printf(out, " | `%s`", item->fallback);
    strbuf_printf(out, " | %s | %s |\n", conf_allowed_text(out->arena, item), item->text);
}

struct str conf_help(struct arena *arena, const struct conf_spec *spec, enum conf_help form)
{
    void (*describe)(struct strbuf *, const struct conf_item *) =
        form == CONF_HELP_MARKDOWN ? describe_row : describe_text;
    struct strbuf out;

    strbuf_init(&out, arena, HELP_BYTES_MAX);
    if (form == CONF_HELP_MARKDOWN)
        strbuf_cstr(&out, "| Variable | Default | Allowed | Meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < conf_common_count; i++) {
        if (!conf_is_ignored(spec, str_from(conf_common_items[i].name)))
            describe(&out, &conf_common_items[i]);
    }
    for (size_t i = 0; i < spec->count; i++)
        describe(&out, &spec->items[i]);
    return strbuf_view(&out);
}
