/* File names of clients, and Upload-Metadata of tus: the result is one clean path segment, or
 * nothing. */
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "files/name.h"
#include "http/disposition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(struct arena *arena, struct str name)
{
    MUST(name.len > 0 && name.len <= FILE_NAME_BYTES && utf8_valid(name));
    MUST(!memchr(name.ptr, '/', name.len) && !memchr(name.ptr, '\\', name.len));
    MUST(!str_is(name, ".") && !str_is(name, ".."));
    for (size_t i = 0; i < name.len; i++)
        MUST((unsigned char)name.ptr[i] >= ' ' && name.ptr[i] != 127);
    MUST(file_name_is_clean(arena, name)); /* cleaning it again changes nothing */
    struct str header = disposition_header(arena, true, name);
    for (size_t i = 0; i < header.len; i++)
        MUST(header.ptr[i] >= ' ' && header.ptr[i] < 127);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    struct str text = {(const char *)data, size};
    struct str name;

    check_name(arena, file_name_clean(arena, text));
    if (file_name_of_metadata(arena, text, &name))
        check_name(arena, name);
    arena_free(arena);
    return 0;
}
