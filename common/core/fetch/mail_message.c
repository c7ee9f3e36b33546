/* Checks and formats mails: headers (RFC 5322, 2047), bodies in base64 (RFC 2045). */
#include <curl/curl.h>
#include <locale.h>

#include "base/clock.h"
#include "base/codec.h"
#include "base/panic.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "fetch/mail.h"
#include "json/schema.h"

#define MESSAGE_BYTES ((size_t)4 * MAIL_MAX_BYTES)
#define WORD_BYTES    39 /* UTF-8 bytes of an encoded word: lines of at most 76 characters */
#define PLAIN_BYTES   60 /* longest ASCII header value that needs no folding */
#define LINE_BYTES    57 /* bytes of a body per line: 76 characters of base64 */

/* --- checks --- */

static bool header_is_valid(struct str text, size_t max)
{
    if (text.len > max || !utf8_valid(text))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c == 0x7f)
            return false;
    }
    return true;
}

static bool address_is_plain(struct str address)
{
    for (size_t i = 0; i < address.len; i++) {
        unsigned char c = (unsigned char)address.ptr[i];
        if (c <= 0x20 || c >= 0x7f || c == '<' || c == '>' || c == ',' || c == ';' || c == '"')
            return false;
    }
    return address.len > 0 && schema_format_ok("email", address);
}

/* Returns the domain in the form of the DNS (RFC 5890, mapped as in UTS 46): "xn--..." for labels
 * in other scripts. libcurl reads the name in the thread's locale, which must be UTF-8. */
static struct str domain_to_ascii(struct arena *arena, struct str domain)
{
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    struct str ascii = STR_NONE;
    CURLU *url = curl_url();
    char *host = NULL;

    MUST(utf8 != (locale_t)0 && url != NULL);
    locale_t before = uselocale(utf8);
    if (curl_url_set(url, CURLUPART_HOST, arena_cstr(arena, domain), 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_HOST, &host, CURLU_PUNYCODE) == CURLUE_OK)
        ascii = arena_dup(arena, str_from(host));
    (void)uselocale(before);
    freelocale(utf8);
    curl_free(host);
    curl_url_cleanup(url);
    return ascii;
}

struct str mail_address_wire(struct arena *arena, struct str address)
{
    struct str domain = address;

    if (address_is_plain(address))
        return address;
    if (!schema_format_ok("email", address))
        return STR_NONE;
    struct str local = str_split(&domain, '@');
    domain = domain_to_ascii(arena, domain);
    if (domain.ptr == NULL)
        return STR_NONE;
    struct str wire = arena_printf(arena, "%.*s@%.*s", STR_ARG(local), STR_ARG(domain));
    return address_is_plain(wire) ? wire : STR_NONE;
}

static int
mail_check_list(struct arena *arena, const struct str *items, size_t count, struct str *ret_reason)
{
    for (size_t i = 0; i < count; i++) {
        if (mail_address_wire(arena, items[i]).ptr != NULL)
            continue;
        *ret_reason =
            arena_printf(arena, "\"%.*s\" is not a valid e-mail address", STR_ARG(items[i]));
        return MAIL_BAD_ADDRESS;
    }
    return 0;
}

int mail_check(struct arena *arena, const struct mail *mail, struct str *ret_reason)
{
    size_t recipients = mail->to_count + mail->cc_count + mail->bcc_count;

    TRY(mail_check_list(arena, &mail->from, 1, ret_reason));
    TRY(mail_check_list(arena, mail->to, mail->to_count, ret_reason));
    TRY(mail_check_list(arena, mail->cc, mail->cc_count, ret_reason));
    TRY(mail_check_list(arena, mail->bcc, mail->bcc_count, ret_reason));
    TRY(mail_check_list(arena, &mail->reply_to, mail->reply_to.len ? 1 : 0, ret_reason));
    if (mail->to_count == 0 || recipients > MAIL_MAX_RECIPIENTS) {
        *ret_reason =
            arena_printf(arena, "a mail must have 1 to %d recipients", MAIL_MAX_RECIPIENTS);
        return MAIL_BAD_ADDRESS;
    }
    if (!header_is_valid(mail->subject, MAIL_MAX_SUBJECT) ||
        !header_is_valid(mail->from_name, MAIL_MAX_SUBJECT)) {
        *ret_reason = STR("the subject or sender name has line breaks or other control characters, "
                          "or is too long");
        return MAIL_BAD_HEADER;
    }
    if (mail->text.len + mail->html.len > MAIL_MAX_BYTES) {
        *ret_reason = STR("text and HTML together are longer than 1 MB");
        return MAIL_BAD_HEADER;
    }
    return 0;
}

/* --- headers --- */

static bool header_is_plain(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] >= 0x7f)
            return false;
    }
    /* Encode text that looks like an encoded word, or readers would decode it. */
    return text.len <= PLAIN_BYTES && memmem(text.ptr, text.len, "=?", 2) == NULL;
}

static void put_encoded_words(struct strbuf *out, struct str text)
{
    bool first = true;

    while (text.len > 0) {
        struct str part = utf8_cut(text, WORD_BYTES);
        strbuf_cstr(out, first ? "=?UTF-8?B?" : "\r\n =?UTF-8?B?");
        strbuf_str(out, codec_b64(out->arena, part));
        strbuf_cstr(out, "?=");
        text = (struct str){text.ptr + part.len, text.len - part.len};
        first = false;
    }
}

static void put_text_header(struct strbuf *out, const char *name, struct str value)
{
    strbuf_printf(out, "%s: ", name);
    if (header_is_plain(value))
        strbuf_str(out, value);
    else
        put_encoded_words(out, value);
    strbuf_cstr(out, "\r\n");
}

/* Writes one address per line, so that no line becomes too long. */
static void
put_addresses(struct strbuf *out, const char *name, const struct str *items, size_t count)
{
    if (count == 0)
        return;
    strbuf_printf(out, "%s: ", name);
    for (size_t i = 0; i < count; i++)
        strbuf_printf(
            out, "%s%.*s", i ? ",\r\n " : "", STR_ARG(mail_address_wire(out->arena, items[i])));
    strbuf_cstr(out, "\r\n");
}

static void mail_put_from(struct strbuf *out, const struct mail *mail)
{
    struct str from = mail_address_wire(out->arena, mail->from);

    strbuf_cstr(out, "From: ");
    if (mail->from_name.len) {
        put_encoded_words(out, mail->from_name);
        strbuf_printf(out, " <%.*s>\r\n", STR_ARG(from));
    } else {
        strbuf_printf(out, "%.*s\r\n", STR_ARG(from));
    }
}

/* --- bodies --- */

static void mail_put_body(struct strbuf *out, const char *type, struct str body)
{
    strbuf_printf(
        out, "Content-Type: %s; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n", type);
    while (body.len > 0) {
        size_t len = body.len < LINE_BYTES ? body.len : LINE_BYTES;
        strbuf_str(out, codec_b64(out->arena, (struct str){body.ptr, len}));
        strbuf_cstr(out, "\r\n");
        body = (struct str){body.ptr + len, body.len - len};
    }
}

struct str mail_message(struct arena *arena, const struct mail *mail, int64_t now_ms)
{
    struct str from = mail_address_wire(arena, mail->from);
    const char *domain = from.len > 0 ? memchr(from.ptr, '@', from.len) : NULL;
    char date[CLOCK_TEXT_BYTES];
    struct strbuf out;

    strbuf_init(&out, arena, MESSAGE_BYTES);
    strbuf_printf(&out, "Date: %s +0000\r\n", clock_format_mail(date, now_ms));
    mail_put_from(&out, mail);
    put_addresses(&out, "To", mail->to, mail->to_count);
    put_addresses(&out, "Cc", mail->cc, mail->cc_count);
    put_addresses(&out, "Reply-To", &mail->reply_to, mail->reply_to.len ? 1 : 0);
    put_text_header(&out, "Subject", mail->subject);
    strbuf_printf(&out,
                  "Message-ID: <%.*s%.*s>\r\nMIME-Version: 1.0\r\n",
                  STR_ARG(mail->message_id),
                  (int)(from.ptr + from.len - domain),
                  domain);
    if (mail->text.len && mail->html.len) {
        /* Base64 never contains '=_', so the boundary cannot occur in a body. */
        strbuf_cstr(&out,
                    "Content-Type: multipart/alternative; boundary=\"=_part\"\r\n\r\n--=_part\r\n");
        mail_put_body(&out, "text/plain", mail->text);
        strbuf_cstr(&out, "--=_part\r\n");
        mail_put_body(&out, "text/html", mail->html);
        strbuf_cstr(&out, "--=_part--\r\n");
    } else if (mail->html.len) {
        mail_put_body(&out, "text/html", mail->html);
    } else {
        mail_put_body(&out, "text/plain", mail->text);
    }
    MUST(!out.overflow);
    return strbuf_view(&out);
}
