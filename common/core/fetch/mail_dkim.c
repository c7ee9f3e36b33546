/* Writes DKIM-Signature headers (RFC 6376 section 3.5) over canonical forms (section 3.4). */
#include "fetch/mail_dkim.h"

#include <string.h>

#include "base/codec.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "crypto/digest.h"
#include "crypto/rsa_key.h"

#define HEAD_BYTES     ((size_t)256 * 1024)
#define FOLDED_B64     70
#define NAMES_PER_LINE 6

/* The signed headers. The signature names each once more than the message has it, so adding another
 * one breaks the signature (RFC 6376 section 8.15). */
static const char *const signed_names[] = {"from",
                                           "to",
                                           "cc",
                                           "reply-to",
                                           "subject",
                                           "date",
                                           "message-id",
                                           "mime-version",
                                           "content-type",
                                           "content-transfer-encoding"};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Appends text in relaxed form: a run of blanks becomes one blank, and trailing blanks are dropped.
 * This also unfolds headers, since folding consists of blanks. */
static void put_relaxed(struct strbuf *out, struct str text)
{
    bool blank = false;

    for (size_t i = 0; i < text.len; i++) {
        if (is_blank(text.ptr[i])) {
            blank = true;
            continue;
        }
        if (blank)
            strbuf_char(out, ' ');
        blank = false;
        strbuf_char(out, text.ptr[i]);
    }
}

/* --- body --- */

/* Takes the next line off `rest`. Returns it without its CRLF. */
static struct str line_next(struct str *rest)
{
    const char *end = memmem(rest->ptr, rest->len, "\r\n", 2);
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    struct str line = {rest->ptr, len};

    *rest = (struct str){rest->ptr + len + (end ? 2 : 0), rest->len - len - (end ? 2 : 0)};
    return line;
}

/* Empty lines at the end do not count: an empty line is hashed once another line follows. */
static void hash_body(struct arena *arena, struct str body, uint8_t ret[DIGEST_SHA256_BYTES])
{
    struct digest digest;
    struct strbuf line;
    size_t empty = 0;

    digest_init(&digest);
    strbuf_init(&line, arena, body.len);
    while (body.len > 0) {
        line.len = 0;
        put_relaxed(&line, line_next(&body));
        if (line.len == 0) {
            empty++;
            continue;
        }
        for (; empty > 0; empty--)
            digest_update(&digest, STR("\r\n"));
        digest_update(&digest, strbuf_view(&line));
        digest_update(&digest, STR("\r\n"));
    }
    digest_final(&digest, ret);
}

/* --- headers --- */

/* Takes the next header with its folded lines off `rest`. Returns it without the last CRLF. */
static struct str header_next(struct str *rest)
{
    struct str whole = *rest;
    struct str line = line_next(rest);
    size_t len = line.len;

    while (rest->len > 0 && (rest->ptr[0] == ' ' || rest->ptr[0] == '\t')) {
        line = line_next(rest);
        len = (size_t)(line.ptr + line.len - whole.ptr);
    }
    return (struct str){whole.ptr, len};
}

/* Returns the header of that name, or STR_NONE. Our messages have each header at most once. */
static struct str header_find(struct str head, const char *name)
{
    size_t len = strlen(name);

    while (head.len > 0) {
        struct str header = header_next(&head);
        if (header.len > len && header.ptr[len] == ':' && strncasecmp(header.ptr, name, len) == 0)
            return header;
    }
    return STR_NONE;
}

static void put_header(struct strbuf *out, const char *name, struct str header)
{
    size_t skip = strlen(name) + 1;

    while (skip < header.len && is_blank(header.ptr[skip]))
        skip++;
    strbuf_printf(out, "%s:", name);
    put_relaxed(out, (struct str){header.ptr + skip, header.len - skip});
}

static void put_signed_names(struct strbuf *out, struct str head)
{
    unsigned count = 0;

    for (size_t i = 0; i < ARRAY_LEN(signed_names); i++) {
        unsigned times = header_find(head, signed_names[i]).ptr ? 2 : 1;
        for (; times > 0; times--, count++)
            strbuf_printf(out,
                          "%s%s%s",
                          count > 0 ? ":" : "",
                          count > 0 && count % NAMES_PER_LINE == 0 ? "\r\n  " : "",
                          signed_names[i]);
    }
}

/* Appends the DKIM-Signature header with an empty "b=", the form in which it is signed. */
static void put_unsigned(struct strbuf *out,
                         const struct mail_dkim *dkim,
                         struct str head,
                         const uint8_t body_hash[DIGEST_SHA256_BYTES],
                         int64_t now_ms)
{
    const struct str hash = {(const char *)body_hash, DIGEST_SHA256_BYTES};

    strbuf_printf(out,
                  "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed;\r\n d=%.*s; s=%.*s;\r\n "
                  "t=%lld; h=",
                  STR_ARG(dkim->domain),
                  STR_ARG(dkim->selector),
                  (long long)(now_ms / 1000));
    put_signed_names(out, head);
    strbuf_printf(out, ";\r\n bh=%.*s;\r\n b=", STR_ARG(codec_b64(out->arena, hash)));
}

/* Returns the text to sign: the headers in the order of signed_names, then this header. */
static struct str signed_text(struct arena *arena, struct str head, struct str own)
{
    struct strbuf out;

    strbuf_init(&out, arena, HEAD_BYTES);
    for (size_t i = 0; i < ARRAY_LEN(signed_names); i++) {
        struct str header = header_find(head, signed_names[i]);
        if (header.ptr == NULL)
            continue;
        put_header(&out, signed_names[i], header);
        strbuf_cstr(&out, "\r\n");
    }
    put_header(&out, "dkim-signature", own);
    MUST(!out.overflow);
    return strbuf_view(&out);
}

struct str mail_dkim_header(struct arena *arena,
                            const struct mail_dkim *dkim,
                            struct str message,
                            int64_t now_ms)
{
    const char *end = memmem(message.ptr, message.len, "\r\n\r\n", 4);
    uint8_t body_hash[DIGEST_SHA256_BYTES];
    struct strbuf out;

    MUST(end != NULL);
    const struct str head = {message.ptr, (size_t)(end - message.ptr) + 2};
    hash_body(arena, (struct str){end + 4, message.len - head.len - 2}, body_hash);
    strbuf_init(&out, arena, HEAD_BYTES);
    put_unsigned(&out, dkim, head, body_hash, now_ms);
    struct str text = signed_text(arena, head, strbuf_view(&out));
    struct str signature = codec_b64(arena, rsa_sign_rs256(arena, dkim->key, text));
    while (signature.len > 0) {
        size_t len = signature.len < FOLDED_B64 ? signature.len : FOLDED_B64;
        strbuf_str(&out, (struct str){signature.ptr, len});
        signature = (struct str){signature.ptr + len, signature.len - len};
        strbuf_cstr(&out, signature.len > 0 ? "\r\n  " : "\r\n");
    }
    MUST(!out.overflow);
    return strbuf_view(&out);
}
