/*
 * Decodes bodies (RFC 9112 sections 6 and 7.1). Chunk sizes are only hexadecimal digits. Extensions
 * and trailers are checked for form, limited in size, and dropped.
 */
#include "http/parse_private.h"

#include <string.h>

#include "base/ascii.h"

#define SIZE_DIGITS_MAX   16
#define EXTENSION_MAX     256
#define TRAILER_BYTES_MAX 4096

enum state {
    ST_DATA,       /* length-delimited: the end of data is the end of the body */
    ST_SIZE,       /* chunk-size */
    ST_EXT_NAME,   /* after ';' */
    ST_EXT_VALUE,  /* after '=' */
    ST_EXT_TOKEN,  /* in an unquoted value */
    ST_EXT_QUOTED, /* in a quoted value */
    ST_EXT_ESCAPE, /* after '\\' in a quoted value */
    ST_EXT_END,    /* after the closing quote */
    ST_SIZE_LF,
    ST_CHUNK,
    ST_CHUNK_CR,
    ST_CHUNK_LF,
    ST_TRAILER, /* at the start of a line */
    ST_TRAILER_NAME,
    ST_TRAILER_VALUE,
    ST_TRAILER_LF,
    ST_LAST_LF,
    ST_COMPLETE,
    ST_BAD,
};

void body_reader_init(struct body_reader *reader, const struct head *head)
{
    *reader = (struct body_reader){.state = ST_SIZE};
    if (head->chunked)
        return;
    reader->left = head->content_length > 0 ? (uint64_t)head->content_length : 0;
    reader->state = reader->left > 0 ? ST_DATA : ST_COMPLETE;
}

static bool is_token_byte(char c)
{
    return ascii_has_only((struct str){&c, 1}, ASCII_ALNUM, ASCII_TOKEN_MARKS);
}

static bool is_text_byte(char c)
{
    return c == '\t' || (c >= ' ' && c <= '~');
}

static enum state step_size(struct body_reader *reader, char c)
{
    int digit = ascii_hex(c);

    if (digit >= 0) {
        if (reader->digits == SIZE_DIGITS_MAX)
            return ST_BAD;
        reader->digits++;
        reader->left = reader->left << 4 | (uint64_t)digit;
        return ST_SIZE;
    }
    if (reader->digits == 0 || reader->left > INT64_MAX)
        return ST_BAD;
    if (c == '\r')
        return ST_SIZE_LF;
    return c == ';' ? ST_EXT_NAME : ST_BAD;
}

/* Parses a chunk extension. Optional blanks, which only old smuggling tools send, are refused. */
static enum state step_extension(struct body_reader *reader, char c)
{
    bool name_begins = reader->digits != 0;

    reader->digits = 0; /* from here on `digits` only says whether a name must begin */
    if (++reader->extra_bytes > EXTENSION_MAX)
        return ST_BAD;
    switch ((enum state)reader->state) {
    case ST_EXT_NAME:
        if (is_token_byte(c))
            return ST_EXT_NAME;
        if (name_begins)
            return ST_BAD;
        if (c == '=')
            return ST_EXT_VALUE;
        break;
    case ST_EXT_VALUE:
        if (c == '"')
            return ST_EXT_QUOTED;
        return is_token_byte(c) ? ST_EXT_TOKEN : ST_BAD;
    case ST_EXT_TOKEN:
        if (is_token_byte(c))
            return ST_EXT_TOKEN;
        break;
    case ST_EXT_QUOTED:
        if (c == '"')
            return ST_EXT_END;
        if (c == '\\')
            return ST_EXT_ESCAPE;
        return is_text_byte(c) ? ST_EXT_QUOTED : ST_BAD;
    case ST_EXT_ESCAPE:
        return is_text_byte(c) ? ST_EXT_QUOTED : ST_BAD;
    default:
        break;
    }
    if (c == '\r')
        return ST_SIZE_LF;
    if (c != ';')
        return ST_BAD;
    reader->digits = 1;
    return ST_EXT_NAME;
}

static enum state step_trailer(struct body_reader *reader, char c)
{
    if (++reader->extra_bytes > TRAILER_BYTES_MAX)
        return ST_BAD;
    switch ((enum state)reader->state) {
    case ST_TRAILER:
        if (c == '\r')
            return ST_LAST_LF;
        return is_token_byte(c) ? ST_TRAILER_NAME : ST_BAD;
    case ST_TRAILER_NAME:
        if (c == ':')
            return ST_TRAILER_VALUE;
        return is_token_byte(c) ? ST_TRAILER_NAME : ST_BAD;
    case ST_TRAILER_VALUE:
        if (c == '\r')
            return ST_TRAILER_LF;
        return is_text_byte(c) ? ST_TRAILER_VALUE : ST_BAD;
    case ST_TRAILER_LF:
        return c == '\n' ? ST_TRAILER : ST_BAD;
    default:
        return c == '\n' ? ST_COMPLETE : ST_BAD;
    }
}

/* Processes one byte of framing. */
static enum state chunked_step(struct body_reader *reader, char c)
{
    switch ((enum state)reader->state) {
    case ST_SIZE:
        return step_size(reader, c);
    case ST_SIZE_LF:
        if (c != '\n')
            return ST_BAD;
        reader->digits = 0;
        reader->extra_bytes = 0;
        return reader->left > 0 ? ST_CHUNK : ST_TRAILER;
    case ST_CHUNK_CR:
        return c == '\r' ? ST_CHUNK_LF : ST_BAD;
    case ST_CHUNK_LF:
        return c == '\n' ? ST_SIZE : ST_BAD;
    case ST_TRAILER:
    case ST_TRAILER_NAME:
    case ST_TRAILER_VALUE:
    case ST_TRAILER_LF:
    case ST_LAST_LF:
        return step_trailer(reader, c);
    default:
        return step_extension(reader, c);
    }
}

static size_t copy_data(struct body_reader *reader, struct str input, char *out, size_t capacity)
{
    size_t bytes = input.len < capacity ? input.len : capacity;
    if (bytes > reader->left)
        bytes = (size_t)reader->left;
    if (out && bytes > 0)
        memcpy(out, input.ptr, bytes);
    reader->left -= bytes;
    if (reader->left == 0)
        reader->state = reader->state == ST_DATA ? ST_COMPLETE : ST_CHUNK_CR;
    return bytes;
}

int body_decode(struct body_reader *reader,
                struct str input,
                char *out,
                size_t capacity,
                size_t *ret_used,
                size_t *ret_made)
{
    size_t used = 0;
    size_t made = 0;

    while (used < input.len && reader->state != ST_COMPLETE && reader->state != ST_BAD) {
        if (reader->state == ST_DATA || reader->state == ST_CHUNK) {
            struct str rest = {input.ptr + used, input.len - used};
            size_t bytes = copy_data(reader, rest, out ? out + made : NULL, capacity - made);
            if (bytes == 0)
                break;
            used += bytes;
            made += bytes;
        } else {
            reader->state = (uint8_t)chunked_step(reader, input.ptr[used++]);
        }
    }
    *ret_used = used;
    *ret_made = made;
    if (reader->state == ST_BAD)
        return BODY_BAD;
    return reader->state == ST_COMPLETE ? BODY_COMPLETE : BODY_MORE;
}
