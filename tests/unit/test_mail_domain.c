/* Domains of mail: valid names, and the judgement of the DNS records that exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "unit.h"

#include "mail/domain.h"

static struct arena *arena;
static const struct mail_domain domain = {STR_INIT("mail.example.com"),
                                          STR_INIT("0123abcd"),
                                          STR_INIT("gw1"),
                                          STR_INIT("MIIBIjAN"),
                                          STR_INIT("include:spf.example.net")};

TEST(test_names)
{
    static const char *const good[] = {
        "a.example", "a-b.c.example", "xn--bcher-kva.example", "1.example"};
    static const char *const bad[] = {"",
                                      "example",
                                      "a..example",
                                      ".example",
                                      "a.example.",
                                      "-a.example",
                                      "A.example",
                                      "a_b.example",
                                      "10.0.0.1",
                                      "a b.example"};

    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(mail_domain_is_valid(str_from(good[i])));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(mail_domain_is_valid(str_from(bad[i])));
}

static struct mail_verdict judge(enum mail_record record, const char *one, const char *two)
{
    const struct str texts[] = {str_from(one), str_from(two)};

    return mail_record_judge(arena, &domain, record, texts, two ? 2 : 1);
}

static void
assert_wrong(enum mail_record record, const char *one, const char *two, const char *part)
{
    struct mail_verdict verdict = judge(record, one, two);

    assert_false(verdict.ok);
    assert_non_null(strstr(verdict.error, part));
}

static int setup(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

TEST_WITH(test_what_is_published_is_right, setup, teardown)
{
    for (int i = 0; i < MAIL_RECORDS; i++) {
        enum mail_record record = (enum mail_record)i;
        struct str value = mail_record_value(arena, &domain, record);
        struct mail_verdict verdict = mail_record_judge(arena, &domain, record, &value, 1);
        assert_true(verdict.ok && verdict.error == NULL && str_eq(verdict.found, value));
        assert_false(mail_record_judge(arena, &domain, record, NULL, 0).ok);
        assert_true(str_ends(mail_record_name(arena, &domain, record), domain.domain));
    }
}

TEST_WITH(test_keys, setup, teardown)
{
    assert_true(judge(MAIL_RECORD_DKIM, "p=MIIB IjAN", NULL).ok);
    assert_true(judge(MAIL_RECORD_DKIM, "v=DKIM1;k=rsa;h=sha1:sha256;s=*;p=MIIBIjAN;", "text").ok);
    assert_wrong(MAIL_RECORD_DKIM, "p=", NULL, "revokes");
    assert_wrong(MAIL_RECORD_DKIM, "p=MIIBIjAM", NULL, "another key");
    assert_wrong(MAIL_RECORD_DKIM, "v=DKIM2; p=MIIBIjAN", NULL, "DKIM1");
    assert_wrong(MAIL_RECORD_DKIM, "h=sha1; p=MIIBIjAN", NULL, "SHA-256");
    assert_wrong(MAIL_RECORD_DKIM, "s=other; p=MIIBIjAN", NULL, "SHA-256");
    assert_wrong(MAIL_RECORD_DKIM, "p=MIIBIjAN", "p=MIIBIjAM", "more than once");
    assert_wrong(MAIL_RECORD_DKIM, ";;=;p", NULL, "no such record");
    assert_wrong(MAIL_RECORD_DKIM, "", NULL, "no such record");
}

TEST_WITH(test_owners, setup, teardown)
{
    assert_true(
        judge(MAIL_RECORD_OWNERSHIP, "groundwork-verify=x", "groundwork-verify=0123abcd").ok);
    assert_true(
        judge(MAIL_RECORD_OWNERSHIP, "groundwork-verify=0123abcd", "groundwork-verify=x").ok);
    assert_wrong(MAIL_RECORD_OWNERSHIP, "groundwork-verify=0123abcde", NULL, "another");
    assert_wrong(MAIL_RECORD_OWNERSHIP, "groundwork-verify=", NULL, "another");
}

TEST_WITH(test_senders, setup, teardown)
{
    assert_true(judge(MAIL_RECORD_SPF, "V=SPF1 a +INCLUDE:spf.example.net -all", NULL).ok);
    assert_wrong(MAIL_RECORD_SPF, "v=spf1 -include:spf.example.net", NULL, "does not name");
    assert_wrong(MAIL_RECORD_SPF, "v=spf1", NULL, "does not name");
    assert_wrong(
        MAIL_RECORD_SPF, "v=spf1 include:spf.example.net", "v=spf1 -all", "more than once");
    assert_wrong(
        MAIL_RECORD_SPF, "v=spf1 a a a a a a a a a a include:spf.example.net", NULL, "ten");
    assert_true(
        judge(MAIL_RECORD_SPF,
              "v=spf1 ip4:1.2.3.4 ip4:1.2.3.5 a a a a a a a a a include:spf.example.net all",
              NULL)
            .ok);
}
