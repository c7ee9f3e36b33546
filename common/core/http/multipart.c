/*
 * Parses multipart/form-data. A window slides over the body, and bytes that cannot begin a
 * delimiter are returned directly from it, so memory does not depend on the size of a part. Input
 * that two parsers might read differently (a boundary followed by other text, repeated parameters)
 * is refused.
 */
#include "http/multipart.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include "http/filename_private.h"

#define WINDOW_BYTES   16384U
#define HEAD_BYTES_MAX 8192U
#define PARTS_MAX      100U
#define BOUNDARY_MAX   70U

enum multipart_state { MP_PREAMBLE, MP_HEAD, MP_DATA, MP_END };

struct multipart {
    struct arena *arena;
    multipart_source_fn source;
    void *source_arg;
    uint64_t max_total_bytes;
    const char *reason; /* why the result is MULTIPART_INVALID */
    enum multipart_state state;
    unsigned parts;
    char delimiter[BOUNDARY_MAX + 5]; /* CR LF "--" boundary */
    size_t delimiter_len;
    struct str input; /* rest of the source's last chunk, not yet in the window */
    bool input_ended;
    size_t start; /* the window holds the bytes from start to end */
    size_t end;
    char window[WINDOW_BYTES];
};

static int multipart_refuse(struct multipart *mp, const char *reason)
{
    mp->reason = reason;
    return MULTIPART_INVALID;
}

static bool head_refuse(struct multipart *mp, const char *reason)
{
    mp->reason = reason;
    return false;
}

const char *multipart_reason(const struct multipart *mp)
{
    return mp->reason ? mp->reason : "the body is malformed";
}

/* --- parameters of a header value --- */

static bool is_token_char(char c)
{
    return c > ' ' && c < 127 && !ascii_is_in(c, "()<>@,;:\\\"/[]?={}");
}

static void multipart_skip_blanks(struct str *text)
{
    while (text->len > 0 && (text->ptr[0] == ' ' || text->ptr[0] == '\t'))
        *text = (struct str){text->ptr + 1, text->len - 1};
}

static struct str take_token(struct str *text)
{
    size_t len = 0;
    struct str token;

    while (len < text->len && is_token_char(text->ptr[len]))
        len++;
    token = (struct str){text->ptr, len};
    *text = (struct str){text->ptr + len, text->len - len};
    return token;
}

/* Takes a quoted text off `text`. A backslash escapes a quote or a backslash. Browsers write %22
 * for a quote (HTML, form submission); other percent signs belong to the value. */
static bool take_quoted(struct arena *arena, struct str *text, struct str *ret_value)
{
    char *out = arena_alloc(arena, text->len);
    size_t len = 0;
    size_t i = 1;

    while (i < text->len && text->ptr[i] != '"') {
        char c = text->ptr[i];
        size_t left = text->len - i;
        if (c == '\\' && left > 1 && (text->ptr[i + 1] == '"' || text->ptr[i + 1] == '\\')) {
            c = text->ptr[i + 1];
            i++;
        } else if (c == '%' && left > 2 && text->ptr[i + 1] == '2' && text->ptr[i + 2] == '2') {
            c = '"';
            i += 2;
        }
        out[len++] = c;
        i++;
    }
    if (i >= text->len)
        return false;
    *ret_value = (struct str){out, len};
    *text = (struct str){text->ptr + i + 1, text->len - i - 1};
    return true;
}

/* Takes "; name=value" off `text`. Returns 1 = taken, 0 = nothing is left, -1 = malformed. */
static int
take_param(struct arena *arena, struct str *text, struct str *ret_name, struct str *ret_value)
{
    multipart_skip_blanks(text);
    if (text->len == 0)
        return 0;
    if (text->ptr[0] != ';')
        return -1;
    *text = (struct str){text->ptr + 1, text->len - 1};
    multipart_skip_blanks(text);
    if (text->len == 0)
        return 0;
    *ret_name = take_token(text);
    if (ret_name->len == 0 || text->len == 0 || text->ptr[0] != '=')
        return -1;
    *text = (struct str){text->ptr + 1, text->len - 1};
    if (text->len > 0 && text->ptr[0] == '"')
        return take_quoted(arena, text, ret_value) ? 1 : -1;
    *ret_value = take_token(text);
    return ret_value->len > 0 ? 1 : -1;
}

/* Takes the token `wanted` off `text`. False: `text` begins with something else. */
static bool take_keyword(struct str *text, struct str wanted)
{
    multipart_skip_blanks(text);
    if (text->len < wanted.len || !str_ieq((struct str){text->ptr, wanted.len}, wanted))
        return false;
    *text = (struct str){text->ptr + wanted.len, text->len - wanted.len};
    return text->len == 0 || text->ptr[0] == ';' || text->ptr[0] == ' ' || text->ptr[0] == '\t';
}

/* --- construction --- */

/* RFC 2046 5.1.1: bchars, not ending in a space. */
static bool boundary_ok(struct str boundary)
{
    return boundary.len > 0 && boundary.len <= BOUNDARY_MAX &&
           boundary.ptr[boundary.len - 1] != ' ' &&
           ascii_has_only(boundary, ASCII_ALNUM, "'()+_,-./:=? ");
}

static bool find_boundary(struct arena *arena, struct str content_type, struct str *ret_boundary)
{
    struct str boundary = STR_NONE;
    struct str name;
    struct str value;
    int taken;

    if (!take_keyword(&content_type, STR("multipart/form-data")))
        return false;
    while ((taken = take_param(arena, &content_type, &name, &value)) > 0) {
        if (!str_ieq(name, STR("boundary")))
            continue;
        if (boundary.ptr)
            return false;
        boundary = value;
    }
    if (taken < 0 || !boundary.ptr || !boundary_ok(boundary))
        return false;
    *ret_boundary = boundary;
    return true;
}

int multipart_new_from(struct arena *arena,
                       struct str content_type,
                       multipart_source_fn fn,
                       void *arg,
                       uint64_t max_total_bytes,
                       struct multipart **ret)
{
    struct str boundary;
    struct multipart *mp;

    if (!find_boundary(arena, content_type, &boundary))
        return MULTIPART_INVALID;
    mp = arena_alloc(arena, sizeof(*mp));
    memset(mp, 0, offsetof(struct multipart, window));
    mp->arena = arena;
    mp->source = fn;
    mp->source_arg = arg;
    mp->max_total_bytes = max_total_bytes;
    memcpy(mp->delimiter, "\r\n--", 4);
    memcpy(mp->delimiter + 4, boundary.ptr, boundary.len);
    mp->delimiter_len = boundary.len + 4;
    /* The first delimiter need not follow a line end: pretend that there was one. */
    memcpy(mp->window, "\r\n", 2);
    mp->end = 2;
    *ret = mp;
    return 0;
}

static int multipart_read_request(void *arg, uint64_t max_total_bytes, struct str *ret_chunk)
{
    return req_body_read(arg, max_total_bytes, ret_chunk);
}

int multipart_new(struct req *req, uint64_t max_total_bytes, struct multipart **ret)
{
    return multipart_new_from(req->task.arena,
                              req_header(req, "content-type"),
                              multipart_read_request,
                              req,
                              max_total_bytes,
                              ret);
}

/* --- the window --- */

static struct str window_view(const struct multipart *mp)
{
    return (struct str){mp->window + mp->start, mp->end - mp->start};
}

/* co: Reads more bytes into the window, which must have room. The end of the input is an error. */
AWAITS static int window_fill(struct multipart *mp)
{
    size_t capacity;
    size_t bytes;

    if (mp->input.len == 0 && !mp->input_ended) {
        int rc = mp->source(mp->source_arg, mp->max_total_bytes, &mp->input);
        if (rc == REQ_BODY_TOO_LARGE)
            return MULTIPART_TOO_LARGE;
        if (rc == REQ_BODY_MALFORMED)
            return multipart_refuse(mp, "the body ends early");
        if (rc != 0)
            return rc;
        mp->input_ended = mp->input.len == 0;
    }
    if (mp->input_ended)
        return multipart_refuse(mp, "the last boundary is missing");
    if (mp->start > 0) {
        memmove(mp->window, mp->window + mp->start, mp->end - mp->start);
        mp->end -= mp->start;
        mp->start = 0;
    }
    capacity = WINDOW_BYTES - mp->end;
    bytes = mp->input.len < capacity ? mp->input.len : capacity;
    memcpy(mp->window + mp->end, mp->input.ptr, bytes);
    mp->end += bytes;
    mp->input = (struct str){mp->input.ptr + bytes, mp->input.len - bytes};
    return 0;
}

/* co: Fills the window until it holds `bytes`. */
AWAITS static int window_need(struct multipart *mp, size_t bytes)
{
    while (mp->end - mp->start < bytes) {
        int rc = window_fill(mp);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* co: Skips the epilogue, so that the connection can be used again. */
AWAITS static int skip_epilogue(struct multipart *mp)
{
    while (!mp->input_ended) {
        int rc;
        mp->start = mp->end = 0;
        rc = window_fill(mp);
        if (rc != 0 && !mp->input_ended)
            return rc;
    }
    mp->state = MP_END;
    return 0;
}

/* co: Skips the delimiter at the window's start. The text after it decides what follows. */
AWAITS static int pass_delimiter(struct multipart *mp)
{
    int rc;

    mp->start += mp->delimiter_len;
    rc = window_need(mp, 2);
    if (rc != 0)
        return rc;
    if (str_starts(window_view(mp), STR("--")))
        return skip_epilogue(mp);
    while (mp->window[mp->start] == ' ' || mp->window[mp->start] == '\t') { /* padding */
        mp->start++;
        rc = window_need(mp, 2);
        if (rc != 0)
            return rc;
    }
    if (!str_starts(window_view(mp), STR("\r\n")))
        return multipart_refuse(mp, "a boundary is followed by other text");
    mp->start += 2;
    mp->state = MP_HEAD;
    return 0;
}

int multipart_read(struct multipart *mp, struct str *ret_chunk)
{
    while (mp->state == MP_DATA || mp->state == MP_PREAMBLE) {
        struct str view = window_view(mp);
        const char *at =
            view.len > 0 ? memmem(view.ptr, view.len, mp->delimiter, mp->delimiter_len) : NULL;
        size_t ready = 0;
        int rc;
        if (at)
            ready = (size_t)(at - view.ptr);
        else if (view.len >= mp->delimiter_len)
            ready = view.len - mp->delimiter_len + 1;
        if (ready > 0) {
            mp->start += ready;
            *ret_chunk = (struct str){view.ptr, ready};
            return 0;
        }
        rc = at ? pass_delimiter(mp) : window_fill(mp);
        if (rc != 0)
            return rc;
    }
    *ret_chunk = STR("");
    return 0;
}

int multipart_read_all(struct multipart *mp, size_t max_bytes, struct str *ret_data)
{
    struct strbuf data;
    struct str chunk;

    strbuf_init(&data, mp->arena, max_bytes);
    do {
        int rc = multipart_read(mp, &chunk);
        if (rc != 0)
            return rc;
        strbuf_str(&data, chunk);
        if (data.overflow)
            return MULTIPART_TOO_LARGE;
    } while (chunk.len > 0);
    *ret_data = data.len > 0 ? strbuf_view(&data) : STR("");
    return 0;
}

/* --- part heads --- */

/* RFC 7578 section 4.2 forbids filename*, but clients send it. If it can be decoded, it replaces
 * filename (RFC 6266 section 4.3). */
static bool read_disposition(struct multipart *mp, struct str value, struct multipart_part *part)
{
    struct str extended = STR_NONE;
    struct str name;
    struct str text;
    int taken;

    if (!take_keyword(&value, STR("form-data")))
        return head_refuse(mp, "the Content-Disposition of a part is not form-data");
    while ((taken = take_param(mp->arena, &value, &name, &text)) > 0) {
        bool names = str_ieq(name, STR("name"));
        struct str *place = names                             ? &part->name
                            : str_ieq(name, STR("filename"))  ? &part->filename
                            : str_ieq(name, STR("filename*")) ? &extended
                                                              : NULL;
        if (!place)
            continue;
        if (place->ptr)
            return head_refuse(mp, "a parameter of a Content-Disposition header is given twice");
        if (names && !utf8_valid(text))
            return head_refuse(mp, "the name of a part is not UTF-8");
        *place = arena_dup(mp->arena, text);
    }
    if (taken < 0)
        return head_refuse(mp, "a parameter of a Content-Disposition header is malformed");
    if (part->filename.ptr)
        part->filename = filename_decode(mp->arena, part->filename);
    if (extended.ptr && filename_decode_extended(mp->arena, extended, &text))
        part->filename = text;
    return part->name.ptr || head_refuse(mp, "a part has no name");
}

/* A header's value may have tabs, but no other control characters. */
static bool line_ok(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (((unsigned char)text.ptr[i] < ' ' && text.ptr[i] != '\t') || text.ptr[i] == 127)
            return false;
    return true;
}

static bool read_part_field(struct multipart *mp, struct str line, struct multipart_part *part)
{
    struct str value = line;
    struct str name = str_split(&value, ':');

    if (!value.ptr || name.len == 0)
        return head_refuse(mp, "a line in the head of a part is not a header");
    for (size_t i = 0; i < name.len; i++)
        if (!is_token_char(name.ptr[i]))
            return head_refuse(mp, "a line in the head of a part is not a header");
    value = str_trim(value);
    if (!line_ok(value))
        return head_refuse(mp, "a header of a part has control characters");
    if (str_ieq(name, STR("content-disposition")))
        return part->name.ptr ? head_refuse(mp, "a part has two Content-Disposition headers")
                              : read_disposition(mp, value, part);
    if (str_ieq(name, STR("content-type"))) {
        if (part->content_type.ptr || !utf8_valid(value))
            return head_refuse(mp, "the Content-Type of a part is not UTF-8 or is given twice");
        part->content_type = arena_dup(mp->arena, value);
    } else if (str_ieq(name, STR("content-transfer-encoding"))) {
        return str_ieq(value, STR("binary")) || str_ieq(value, STR("8bit")) ||
               str_ieq(value, STR("7bit")) ||
               head_refuse(mp, "the Content-Transfer-Encoding of a part must be binary");
    }
    return true;
}

static bool read_part_head(struct multipart *mp, struct str head, struct multipart_part *part)
{
    while (head.len > 0) {
        const char *end = memmem(head.ptr, head.len, "\r\n", 2);
        size_t len = end ? (size_t)(end - head.ptr) : head.len;
        size_t skip = end ? len + 2 : len;
        if (!read_part_field(mp, (struct str){head.ptr, len}, part))
            return false;
        head = (struct str){head.ptr + skip, head.len - skip};
    }
    return part->name.ptr || head_refuse(mp, "a part has no Content-Disposition header");
}

/* co: Reads and consumes the head of a part. */
AWAITS static int take_part_head(struct multipart *mp, struct multipart_part *ret_part)
{
    for (;;) {
        struct str view = window_view(mp);
        const char *end = view.len > 0 ? memmem(view.ptr, view.len, "\r\n\r\n", 4) : NULL;
        int rc;
        if (end && (size_t)(end - view.ptr) <= HEAD_BYTES_MAX) {
            struct str head = {view.ptr, (size_t)(end - view.ptr)};
            if (!read_part_head(mp, head, ret_part))
                return MULTIPART_INVALID;
            mp->start += head.len + 4;
            return 0;
        }
        if (view.len > HEAD_BYTES_MAX + 4)
            return multipart_refuse(mp, "the head of a part is longer than 8 KB");
        rc = window_fill(mp);
        if (rc != 0)
            return rc;
    }
}

int multipart_next(struct multipart *mp, struct multipart_part *ret_part)
{
    struct multipart_part part = {0};
    struct str skipped;
    int rc;

    do {
        rc = multipart_read(mp, &skipped);
        if (rc != 0)
            return rc;
    } while (skipped.len > 0);
    if (mp->state == MP_HEAD) {
        if (++mp->parts > PARTS_MAX)
            return MULTIPART_TOO_LARGE;
        rc = take_part_head(mp, &part);
        if (rc != 0)
            return rc;
        /* Data that begins with a delimiter without its line end is read differently by other
         * parsers. */
        rc = window_need(mp, mp->delimiter_len);
        if (rc != 0)
            return rc;
        if (memcmp(mp->window + mp->start, mp->delimiter + 2, mp->delimiter_len - 2) == 0)
            return multipart_refuse(mp, "a part begins with a boundary");
        mp->state = MP_DATA;
    }
    *ret_part = part;
    return 0;
}
