/* Writes Content-Disposition headers. */
#include "http/disposition.h"

#include "base/codec.h"
#include "base/strbuf.h"

#define HEADER_BYTES 8192U

/* '%' is not plain either: some clients decode it where nothing is encoded. */
static bool disposition_is_plain(unsigned char c)
{
    return c >= ' ' && c < 127 && c != '"' && c != '\\' && c != '%';
}

struct str disposition_header(struct arena *arena, bool attachment, struct str name)
{
    struct strbuf out;
    bool plain = true;

    strbuf_init(&out, arena, HEADER_BYTES);
    strbuf_str(&out, attachment ? STR("attachment; filename=\"") : STR("inline; filename=\""));
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        bool continues = (c & 0xC0U) == 0x80; /* one '_' per character, not per byte */
        plain = plain && disposition_is_plain(c);
        if (!continues)
            strbuf_char(&out, disposition_is_plain(c) ? (char)c : '_');
    }
    strbuf_char(&out, '"');
    if (!plain) {
        strbuf_str(&out, STR("; filename*=UTF-8''"));
        strbuf_str(&out, codec_percent(arena, name));
    }
    return strbuf_view(&out);
}
