/* Reads the environment into the struct that the entries declare. Defaults are parsed like
 * variables. */
#include "conf/conf.h"

#include <errno.h>
#include <stdio.h>

#include "base/codec.h"
#include "base/num.h"
#include "base/panic.h"
#include "conf/conf_private.h"

#define SECRET_FILE_BYTES 65536U
#define SHOWN_BYTES       80

const char conf_required[] = "(required)";

/* The order of these includes matters. */
/* clang-format off */
const struct conf_item conf_common_items[] = {
#define CONF_OWNER struct conf_common
#include "conf/conf_table.h"
#include "conf/common.def"
#include "conf/conf_end.h"
#undef CONF_OWNER
};
/* clang-format on */
const size_t conf_common_count = ARRAY_LEN(conf_common_items);

/* The state of one conf_load(). */
struct conf_loader {
    struct arena *arena;
    const struct conf_spec *spec;
    char *const *environment;
    char *values; /* the struct app_conf being built */
};

/* --- parsers: they return false when the entry does not allow the text --- */

static bool conf_in_bounds(const struct conf_item *item, int64_t value)
{
    return value >= item->min && value <= item->max;
}

static bool conf_parse_text(const struct conf_item *item, struct str text, struct str *slot)
{
    *slot = text;
    return conf_in_bounds(item, (int64_t)text.len);
}

static bool
parse_key(struct arena *arena, const struct conf_item *item, struct str text, struct str *slot)
{
    if (codec_hex_decode(arena, text, slot) && conf_in_bounds(item, (int64_t)slot->len))
        return true;
    return codec_b64_decode(arena, text, slot) && conf_in_bounds(item, (int64_t)slot->len);
}

static bool parse_choice(const struct conf_item *item, struct str text, struct str *slot)
{
    struct str rest = str_from(item->choices);

    *slot = text;
    while (rest.ptr) {
        if (str_eq(str_trim(str_split(&rest, ',')), text))
            return true;
    }
    return false;
}

static bool parse_list(struct arena *arena,
                       const struct conf_item *item,
                       struct str text,
                       struct conf_list *slot)
{
    struct str rest = text;
    size_t commas = 0;

    for (size_t i = 0; i < text.len; i++)
        commas += text.ptr[i] == ',';
    slot->items = ARENA_ARRAY(arena, slot->items, commas + 1);
    slot->count = 0;
    while (rest.ptr) {
        struct str entry = str_trim(str_split(&rest, ','));
        if (entry.len == 0)
            return false;
        slot->items[slot->count++] = arena_dup(arena, entry);
    }
    return conf_in_bounds(item, (int64_t)slot->count);
}

static bool parse_bool(struct str text, bool *slot)
{
    *slot = str_is(text, "true");
    return *slot || str_is(text, "false");
}

static bool conf_parse_number(const struct conf_item *item, struct str text, int64_t *ret_value)
{
    return num_parse_i64(text, ret_value) && conf_in_bounds(item, *ret_value);
}

static bool parse_bytes(const struct conf_item *item, struct str text, size_t *slot)
{
    static const char units[] = "KMG";
    const char *unit = text.len > 0 ? strchr(units, text.ptr[text.len - 1]) : NULL;
    int64_t value;

    if (unit && *unit)
        text.len--;
    if (!num_parse_i64(text, &value) || value < 0)
        return false;
    for (const char *at = units; unit && *unit && at <= unit; at++) {
        if (__builtin_mul_overflow(value, 1024, &value))
            return false;
    }
    *slot = (size_t)value;
    return conf_in_bounds(item, value);
}

static bool conf_parse(struct conf_loader *l, const struct conf_item *item, struct str text)
{
    void *slot = l->values + item->offset;
    int64_t number;

    switch (item->kind) {
    case CONF_KIND_STR:
    case CONF_KIND_SECRET:
        return conf_parse_text(item, text, slot);
    case CONF_KIND_KEY:
        return parse_key(l->arena, item, text, slot);
    case CONF_KIND_LIST:
        return parse_list(l->arena, item, text, slot);
    case CONF_KIND_CHOICE:
        return parse_choice(item, text, slot);
    case CONF_KIND_BOOL:
        return parse_bool(text, slot);
    case CONF_KIND_INT:
        if (!conf_parse_number(item, text, &number))
            return false;
        *(int *)slot = (int)number;
        return true;
    case CONF_KIND_MS:
        return conf_parse_number(item, text, slot);
    case CONF_KIND_BYTES:
        return parse_bytes(item, text, slot);
    }
    return false;
}

/* --- messages --- */

/* Returns a value as messages show it: on one line, shortened, without the credentials of a URL. */
static const char *conf_value_redact(struct arena *arena, struct str text)
{
    char *copy = arena_cstr(arena, text);
    char *scheme_end = strstr(copy, "://");
    char *at_sign = scheme_end ? strrchr(scheme_end, '@') : NULL;

    for (char *at = copy; *at; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    }
    if (at_sign) {
        *scheme_end = '\0';
        copy = arena_cstr(arena, arena_printf(arena, "%s://***%s", copy, at_sign));
    }
    return arena_printf(arena, "%.*s", SHOWN_BYTES, copy).ptr;
}

static const char *conf_message_not_allowed(struct arena *arena,
                                            const struct conf_item *item,
                                            const char *from,
                                            struct str text)
{
    const char *allowed = conf_allowed_text(arena, item);

    if (conf_is_secret(item))
        return arena_printf(arena,
                            "%s holds a secret of %zu bytes (not shown), but must be %s",
                            from,
                            text.len,
                            allowed)
            .ptr;
    return arena_printf(
               arena, "%s is \"%s\", but must be %s", from, conf_value_redact(arena, text), allowed)
        .ptr;
}

static const char *
conf_message_missing(struct arena *arena, const struct conf_item *item, const char *variable)
{
    const char *allowed = conf_allowed_text(arena, item);

    if (conf_is_secret(item))
        return arena_printf(arena, "%s (or %s_FILE) is required: %s", variable, variable, allowed)
            .ptr;
    return arena_printf(arena, "%s is required: %s", variable, allowed).ptr;
}

/* --- loading --- */

/* Returns the value of a variable, STR_NONE when the variable is not set or empty. */
static struct str variable_find(const struct conf_loader *l, struct str variable)
{
    for (char *const *at = l->environment; *at; at++) {
        struct str value = str_from(*at);
        struct str name = str_split(&value, '=');
        if (str_eq(name, variable))
            return value.len > 0 ? arena_dup(l->arena, value) : STR_NONE;
    }
    return STR_NONE;
}

/* Reads the text of a file without its last line end. Returns NULL, or a message. */
static const char *
conf_read_secret(struct arena *arena, const char *variable, struct str path, struct str *ret_text)
{
    char *text = arena_alloc(arena, SECRET_FILE_BYTES + 1);
    FILE *file = fopen(path.ptr, "re");
    const char *error = NULL;
    size_t len = 0;

    errno = file ? 0 : errno;
    if (file)
        len = fread(text, 1, SECRET_FILE_BYTES + 1, file);
    if (!file || ferror(file))
        error = strerror(errno);
    else if (len > SECRET_FILE_BYTES)
        error = "the file is too large for a secret";
    if (file)
        (void)fclose(file);
    if (error)
        return arena_printf(arena,
                            "%s: cannot read \"%s\": %s",
                            variable,
                            conf_value_redact(arena, path),
                            error)
            .ptr;

    if (len > 0 && text[len - 1] == '\n')
        len--;
    if (len > 0 && text[len - 1] == '\r')
        len--;
    if (len == 0 || memchr(text, '\0', len))
        return arena_printf(arena,
                            "%s: \"%s\" is empty or not a text",
                            variable,
                            conf_value_redact(arena, path))
            .ptr;
    text[len] = '\0';
    *ret_text = (struct str){text, len};
    return NULL;
}

/* Loads one entry. Returns NULL, or a message. */
static const char *load_item(struct conf_loader *l, const struct conf_item *item)
{
    const char *variable = conf_variable(l->arena, item);
    struct str text = variable_find(l, str_from(variable));
    const char *from = variable;

    if (conf_is_secret(item)) {
        const char *file_variable = arena_printf(l->arena, "%s_FILE", variable).ptr;
        struct str path = variable_find(l, str_from(file_variable));
        if (path.ptr && text.ptr)
            return arena_printf(
                       l->arena, "%s and %s are both set; set one of them", variable, file_variable)
                .ptr;
        const char *error =
            path.ptr ? conf_read_secret(l->arena, file_variable, path, &text) : NULL;
        if (error)
            return error;
        from = path.ptr ? file_variable : variable;
    }
    if (!text.ptr && item->fallback == CONF_OPTIONAL)
        return NULL;
    if (!text.ptr && item->fallback == CONF_REQUIRED)
        return conf_message_missing(l->arena, item, variable);
    if (!text.ptr)
        text = str_from(item->fallback);
    return conf_parse(l, item, text) ? NULL : conf_message_not_allowed(l->arena, item, from, text);
}

static bool item_has_name(struct arena *arena, const struct conf_item *item, struct str variable)
{
    struct str name = str_from(conf_variable(arena, item));

    if (conf_is_secret(item) && str_ends(variable, STR("_FILE")) &&
        str_eq(name, (struct str){variable.ptr, variable.len - strlen("_FILE")}))
        return true;
    return str_eq(name, variable);
}

bool conf_is_ignored(const struct conf_spec *spec, struct str name)
{
    for (const char *const *at = spec->ignored; at && *at; at++) {
        struct str other = str_from(*at);
        bool prefix = str_ends(other, STR("*"));
        other.len -= prefix;
        if (name.len < other.len || (!prefix && name.len != other.len))
            continue;
        if (str_ieq((struct str){name.ptr, other.len}, other))
            return true;
    }
    return false;
}

static bool conf_is_known(const struct conf_loader *l, struct str variable)
{
    struct str name = {variable.ptr + strlen(CONF_PREFIX), variable.len - strlen(CONF_PREFIX)};

    for (size_t i = 0; i < conf_common_count; i++) {
        if (item_has_name(l->arena, &conf_common_items[i], variable))
            return true;
    }
    for (size_t i = 0; i < l->spec->count; i++) {
        if (item_has_name(l->arena, &l->spec->items[i], variable))
            return true;
    }
    return conf_is_ignored(l->spec, name);
}

/* Refuses unknown variables, so that a misspelt variable does not count as not set. Returns NULL,
 * or a message. */
static const char *conf_refuse_unknown(const struct conf_loader *l)
{
    for (char *const *at = l->environment; *at; at++) {
        struct str value = str_from(*at);
        struct str variable = str_split(&value, '=');
        if (str_starts(variable, STR(CONF_PREFIX)) && !conf_is_known(l, variable))
            return arena_printf(
                       l->arena,
                       "%s is not a variable of this program; --help-config lists all variables",
                       conf_value_redact(l->arena, variable))
                .ptr;
    }
    return NULL;
}

const char *conf_load(struct arena *arena,
                      const struct conf_spec *spec,
                      char *const *environment,
                      void *ret_conf)
{
    struct conf_loader l = {
        .arena = arena,
        .spec = spec,
        .environment = environment,
        .values = arena_zalloc(arena, spec->bytes),
    };
    const char *error = conf_refuse_unknown(&l);

    MUST(spec->bytes >= sizeof(struct conf_common));
    for (size_t i = 0; i < conf_common_count && !error; i++)
        error = load_item(&l, &conf_common_items[i]);
    for (size_t i = 0; i < spec->count && !error; i++)
        error = load_item(&l, &spec->items[i]);
    if (!error)
        memcpy(ret_conf, l.values, spec->bytes);
    return error;
}
