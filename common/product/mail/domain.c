/* DNS records of a sending domain: ownership, DKIM (RFC 6376, 3.6.1), SPF (RFC 7208), DMARC (RFC
 * 7489). */
#include "mail/domain.h"

#include "base/ascii.h"
#include "base/strbuf.h"
#include "json/schema.h"

#define SPF_LOOKUPS_MAX 10 /* RFC 7208, 4.6.4 */
#define KEY_BYTES       4096

static const char *const purposes[MAIL_RECORDS] = {
    [MAIL_RECORD_OWNERSHIP] = "ownership",
    [MAIL_RECORD_DKIM] = "dkim",
    [MAIL_RECORD_SPF] = "spf",
    [MAIL_RECORD_DMARC] = "dmarc",
};

const char *mail_record_purpose(enum mail_record record)
{
    return purposes[record];
}

bool mail_record_is_required(enum mail_record record)
{
    return record == MAIL_RECORD_OWNERSHIP || record == MAIL_RECORD_DKIM;
}

bool mail_domain_is_valid(struct str domain)
{
    char address[MAIL_DOMAIN_MAX + 3] = "x@";

    if (domain.len == 0 || domain.len > MAIL_DOMAIN_MAX ||
        memchr(domain.ptr, '.', domain.len) == NULL ||
        !ascii_has_only(domain, ASCII_LOWER | ASCII_DIGIT, "-."))
        return false;
    /* A last label of digits only would make the name an IP address. */
    struct str last = domain;
    for (struct str rest = domain; rest.ptr != NULL;)
        last = str_split(&rest, '.');
    memcpy(address + 2, domain.ptr, domain.len);
    return !ascii_has_only(last, ASCII_DIGIT, "") &&
           schema_format_ok("email", (struct str){address, domain.len + 2});
}

struct str
mail_record_name(struct arena *arena, const struct mail_domain *domain, enum mail_record record)
{
    switch (record) {
    case MAIL_RECORD_OWNERSHIP:
        return arena_printf(arena, "_groundwork.%.*s", STR_ARG(domain->domain));
    case MAIL_RECORD_DKIM:
        return arena_printf(
            arena, "%.*s._domainkey.%.*s", STR_ARG(domain->selector), STR_ARG(domain->domain));
    case MAIL_RECORD_DMARC:
        return arena_printf(arena, "_dmarc.%.*s", STR_ARG(domain->domain));
    default:
        return domain->domain;
    }
}

struct str
mail_record_value(struct arena *arena, const struct mail_domain *domain, enum mail_record record)
{
    switch (record) {
    case MAIL_RECORD_OWNERSHIP:
        return arena_printf(arena, "groundwork-verify=%.*s", STR_ARG(domain->token));
    case MAIL_RECORD_DKIM:
        return arena_printf(arena, "v=DKIM1; k=rsa; p=%.*s", STR_ARG(domain->public_key));
    case MAIL_RECORD_SPF:
        return domain->spf.len ? arena_printf(arena, "v=spf1 %.*s ~all", STR_ARG(domain->spf))
                               : STR_NONE;
    default:
        return STR("v=DMARC1; p=none");
    }
}

/* --- published records --- */

/* Returns the value of a tag in "v=DKIM1; p=..." without blanks around it; STR_NONE: there is no
 * such tag. */
static struct str tag_value(struct str text, char tag)
{
    while (text.ptr != NULL) {
        struct str value = str_split(&text, ';');
        struct str name = str_split(&value, '=');
        name = str_trim(name);
        if (name.len == 1 && name.ptr[0] == tag && value.ptr != NULL)
            return str_trim(value);
    }
    return STR_NONE;
}

static struct str blanks_remove(struct arena *arena, struct str text)
{
    struct strbuf out;

    strbuf_init(&out, arena, KEY_BYTES);
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != ' ' && text.ptr[i] != '\t')
            strbuf_char(&out, text.ptr[i]);
    return strbuf_view(&out);
}

/* Returns whether a list with colons has the item or "*". An absent list allows everything. */
static bool list_allows(struct str list, const char *item)
{
    if (list.ptr == NULL)
        return true;
    while (list.ptr != NULL) {
        struct str one = str_trim(str_split(&list, ':'));
        if (str_is(one, item) || str_is(one, "*"))
            return true;
    }
    return false;
}

static const char *
dkim_error(struct arena *arena, const struct mail_domain *domain, struct str text)
{
    struct str version = tag_value(text, 'v');
    struct str kind = tag_value(text, 'k');
    struct str key = tag_value(text, 'p');

    if (version.ptr != NULL && !str_is(version, "DKIM1"))
        return "is not a DKIM record: v must be DKIM1";
    if (kind.ptr != NULL && !str_is(kind, "rsa"))
        return "has a key of another type: k must be rsa";
    if (key.len == 0)
        return "has no key: p is empty, which revokes the key";
    if (!str_eq(blanks_remove(arena, key), domain->public_key))
        return "has another key: p must be the key in \"value\"";
    if (!list_allows(tag_value(text, 'h'), "sha256") || !list_allows(tag_value(text, 's'), "email"))
        return "does not allow the key for mail and SHA-256: check h and s";
    return NULL;
}

/* Returns whether a receiver has to query a name server again for this term. */
static bool spf_needs_lookup(struct str term)
{
    static const char *const asking[] = {"include", "a", "mx", "ptr", "exists", "redirect"};
    static const char qualifiers[] = {'+', '-', '~', '?'};
    size_t len = 0;

    if (term.len > 0 && memchr(qualifiers, term.ptr[0], sizeof(qualifiers)) != NULL)
        term = (struct str){term.ptr + 1, term.len - 1};
    while (len < term.len && ascii_is(term.ptr[len], ASCII_LETTER))
        len++;
    for (size_t i = 0; i < ARRAY_LEN(asking); i++)
        if (str_ieq((struct str){term.ptr, len}, str_from(asking[i])))
            return true;
    return false;
}

static bool term_is_mechanism(struct str term, struct str wanted)
{
    if (term.len > 0 && term.ptr[0] == '+')
        term = (struct str){term.ptr + 1, term.len - 1};
    return str_ieq(term, wanted);
}

static const char *spf_error(const struct mail_domain *domain, struct str text)
{
    unsigned lookups = 0;
    bool named = false;

    while (text.ptr != NULL) {
        struct str term = str_split(&text, ' ');
        lookups += spf_needs_lookup(term);
        named = named || term_is_mechanism(term, domain->spf);
    }
    if (!named)
        return "does not name the sending servers, as \"value\" does";
    return lookups > SPF_LOOKUPS_MAX
               ? "has more than ten terms that need a DNS lookup, so it is invalid"
               : NULL;
}

/* Returns whether a text is of this kind of record. Texts of other kinds may be published at the
 * same name. */
static bool record_is_kind(struct str text, enum mail_record record)
{
    static const char *const begins[MAIL_RECORDS] = {
        [MAIL_RECORD_OWNERSHIP] = "groundwork-verify=",
        [MAIL_RECORD_DKIM] = "",
        [MAIL_RECORD_SPF] = "v=spf1",
        [MAIL_RECORD_DMARC] = "v=DMARC1",
    };
    struct str begin = str_from(begins[record]);

    if (text.len < begin.len || !str_ieq((struct str){text.ptr, begin.len}, begin))
        return false;
    if (record == MAIL_RECORD_DKIM)
        return tag_value(text, 'p').ptr != NULL;
    return record != MAIL_RECORD_SPF || text.len == begin.len || text.ptr[begin.len] == ' ';
}

static const char *record_error(struct arena *arena,
                                const struct mail_domain *domain,
                                enum mail_record record,
                                struct str text)
{
    switch (record) {
    case MAIL_RECORD_OWNERSHIP:
        return str_eq(str_trim(text), mail_record_value(arena, domain, record))
                   ? NULL
                   : "has another project's token";
    case MAIL_RECORD_DKIM:
        return dkim_error(arena, domain, text);
    case MAIL_RECORD_SPF:
        return spf_error(domain, text);
    default:
        return tag_value(text, 'p').ptr ? NULL : "has no policy: p is missing";
    }
}

struct mail_verdict mail_record_judge(struct arena *arena,
                                      const struct mail_domain *domain,
                                      enum mail_record record,
                                      const struct str *texts,
                                      size_t count)
{
    struct mail_verdict verdict = {.error = "there is no such record"};
    size_t seen = 0;

    for (size_t i = 0; i < count; i++) {
        if (!record_is_kind(texts[i], record))
            continue;
        const char *wrong = record_error(arena, domain, record, texts[i]);
        seen++;
        if (seen > 1 && verdict.ok)
            continue;
        verdict = (struct mail_verdict){wrong == NULL, texts[i], wrong};
    }
    /* Several records count as none, except that tokens of several projects may be published
     * together. */
    if (seen > 1 && record != MAIL_RECORD_OWNERSHIP) {
        verdict.ok = false;
        verdict.error = "is published more than once: receivers ignore all of them";
    }
    return verdict;
}
