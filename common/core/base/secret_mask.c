/* Masks of secrets in the bodies that callers send, and names of credentials. */
#include "base/secret_mask.h"

#include "base/ascii.h"
#include "base/result.h"
#include "base/strbuf.h"

/* Authentication schemes that may precede a credential in a header. */
static const struct str schemes[] = {STR_INIT("Bearer "), STR_INIT("Basic "), STR_INIT("Token ")};

static bool has_mask(struct str text)
{
    return text.len > 0 && memmem(text.ptr, text.len, SECRET_MASK, sizeof(SECRET_MASK) - 1) != NULL;
}

static bool is_shown(struct str text, struct str shown)
{
    if (str_eq(text, shown))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t len = schemes[i].len;
        if (text.len > len && str_ieq((struct str){text.ptr, len}, schemes[i]) &&
            str_eq((struct str){text.ptr + len, text.len - len}, shown))
            return true;
    }
    return false;
}

enum secret_input secret_classify(struct str text, struct str shown)
{
    if (!has_mask(text))
        return SECRET_NEW;
    return has_mask(shown) && is_shown(text, shown) ? SECRET_SAME : SECRET_WRONG_MASK;
}

/* --- names --- */

static bool is_secret_word(struct str word)
{
    static const char *const words[] = {
        "apikey",       "accesskey", "accesstoken", "auth",        "authorization", "bearer",
        "cookie",       "cookies",   "credential",  "credentials", "idtoken",       "jwt",
        "key",          "keys",      "otp",         "passcode",    "passphrase",    "passwd",
        "password",     "passwords", "pwd",         "secret",      "secretkey",     "secrets",
        "refreshtoken", "sig",       "signature",   "signatures",  "token",         "tokens",
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_ieq(word, str_from(words[i])))
            return true;
    return false;
}

/* Returns whether a word begins inside of a name: at a capital after a small letter or digit.
 * secret_is_credential_name() itself splits at characters other than letters and digits. */
static bool secret_is_word_start(struct str name, size_t at)
{
    return at > 0 && ascii_is(name.ptr[at], ASCII_UPPER) &&
           ascii_is(name.ptr[at - 1], ASCII_LOWER | ASCII_DIGIT);
}

bool secret_is_credential_name(struct str name)
{
    size_t begin = 0;

    for (size_t i = 0; i <= name.len; i++) {
        bool ends = i == name.len || !ascii_is(name.ptr[i], ASCII_ALNUM);
        if (!ends && !secret_is_word_start(name, i))
            continue;
        if (is_secret_word((struct str){name.ptr + begin, i - begin}))
            return true;
        begin = ends ? i + 1 : i;
    }
    return false;
}

struct str secret_hide(struct arena *arena, struct str credential)
{
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (credential.len > schemes[i].len &&
            str_ieq((struct str){credential.ptr, schemes[i].len}, schemes[i]))
            return arena_printf(arena, "%.*s" SECRET_MASK, STR_ARG(schemes[i]));
    return STR(SECRET_MASK);
}

struct str secret_url_mask(struct arena *arena, struct str url)
{
    const char *query = url.len ? memchr(url.ptr, '?', url.len) : NULL;
    struct strbuf out;
    struct str rest;

    if (query == NULL)
        return url;
    strbuf_init(&out, arena, url.len * 2 + sizeof(SECRET_MASK) * url.len);
    rest = (struct str){query + 1, url.len - (size_t)(query + 1 - url.ptr)};
    strbuf_str(&out, (struct str){url.ptr, url.len - rest.len});
    for (bool first = true; rest.ptr != NULL; first = false) {
        struct str value = str_split(&rest, '&');
        struct str name = str_split(&value, '=');
        if (!first)
            strbuf_char(&out, '&');
        strbuf_str(&out, name);
        if (value.ptr == NULL)
            continue;
        strbuf_char(&out, '=');
        strbuf_str(&out, secret_is_credential_name(name) ? STR(SECRET_MASK) : value);
    }
    return strbuf_view(&out);
}
