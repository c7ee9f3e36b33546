/* Names of files. */
#include "files/name.h"

#include "base/codec.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#define ENDING_BYTES 16U /* of an ending with its dot; the ending of "a.tar.gz" is ".gz" */

static struct str last_segment(struct str path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.ptr[i - 1] == '/' || path.ptr[i - 1] == '\\')
            return (struct str){path.ptr + i, path.len - i};
    return path;
}

/* Returns the length of the first character of `rest` if names must not have it, else 0. Names have
 * no C0, DEL, C1, line and paragraph separators (U+2028, U+2029), direction marks and overrides
 * (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), U+FEFF. */
static size_t forbidden_char_bytes(struct str rest)
{
    const unsigned char *at = (const unsigned char *)rest.ptr;

    if (at[0] < ' ' || at[0] == 127)
        return 1;
    if (rest.len >= 2 && at[0] == 0xC2 && at[1] < 0xA0)
        return 2;
    if (rest.len < 3)
        return 0;
    if (at[0] == 0xE2 && at[1] == 0x80 &&
        (at[2] == 0x8E || at[2] == 0x8F || (at[2] >= 0xA8 && at[2] <= 0xAE)))
        return 3;
    if (at[0] == 0xE2 && at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9)
        return 3;
    return at[0] == 0xEF && at[1] == 0xBB && at[2] == 0xBF ? 3 : 0;
}

static struct str name_strip(struct arena *arena, struct str name)
{
    struct strbuf out;

    strbuf_init(&out, arena, name.len + 1);
    for (size_t i = 0; i < name.len;) {
        size_t skip = forbidden_char_bytes((struct str){name.ptr + i, name.len - i});
        if (skip == 0)
            strbuf_char(&out, name.ptr[i++]);
        i += skip;
    }
    return strbuf_view(&out);
}

static struct str ending_of(struct str name)
{
    for (size_t i = name.len; i > 0 && name.len - i < ENDING_BYTES; i--)
        if (name.ptr[i - 1] == '.')
            return (struct str){name.ptr + i - 1, name.len - i + 1};
    return STR("");
}

/* Removes spaces at both ends, and dots at the end: "." and ".." are not valid names, and Windows
 * drops trailing dots. */
static struct str name_trim(struct str name)
{
    while (name.len > 0 && (name.ptr[name.len - 1] == ' ' || name.ptr[name.len - 1] == '.'))
        name.len--;
    while (name.len > 0 && name.ptr[0] == ' ')
        name = (struct str){name.ptr + 1, name.len - 1};
    return name;
}

struct str file_name_clean(struct arena *arena, struct str sent)
{
    struct str name = utf8_clean(arena, last_segment(sent));

    name = name_trim(name_strip(arena, name));
    if (name.len > FILE_NAME_BYTES) {
        struct str ending = ending_of(name);
        struct str stem = name_trim(utf8_cut(name, FILE_NAME_BYTES - ending.len));
        name = arena_printf(arena, "%.*s%.*s", STR_ARG(stem), STR_ARG(ending));
    }
    return name.len > 0 ? arena_dup(arena, name) : STR("file");
}

struct str file_name_save_as(struct arena *arena, struct str wished, struct str own)
{
    struct str name = file_name_clean(arena, wished);
    struct str ending = ending_of(own);

    if (str_ieq(ending_of(name), ending))
        return name;
    if (ending.len == 0)
        return own;
    return file_name_clean(arena, arena_printf(arena, "%.*s%.*s", STR_ARG(name), STR_ARG(ending)));
}

bool file_name_is_clean(struct arena *arena, struct str name)
{
    return name.len > 0 && str_eq(file_name_clean(arena, name), name);
}

bool file_name_of_metadata(struct arena *arena, struct str metadata, struct str *ret_name)
{
    *ret_name = STR("file");
    while (metadata.len > 0) {
        struct str value = str_trim(str_split(&metadata, ','));
        struct str name = str_split(&value, ' ');
        struct str decoded = STR("");
        if (name.len == 0 || (value.len > 0 && !codec_b64_decode(arena, value, &decoded)))
            return false;
        if (str_is(name, "filename") && decoded.len > 0)
            *ret_name = file_name_clean(arena, decoded);
    }
    return true;
}
