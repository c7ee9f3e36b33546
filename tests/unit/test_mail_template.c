/* Mail templates: what is checked, what is filled in, and the plain text that is made of HTML. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit.h"

#include "base/strbuf.h"
#include "base/utf8.h"
#include "mail/plain_private.h"
#include "mail/template.h"

static struct arena *arena;

static int check(const char *text)
{
    struct str reason = STR_NONE;
    int rc =
        mail_template_check(arena, str_from(text), mail_template_variables(MAIL_INVITE), &reason);

    assert_int_equal(rc != 0, reason.ptr != NULL);
    return rc;
}

TEST(test_checks)
{
    assert_int_equal(check("no variables"), 0);
    assert_int_equal(check("{{ link }} and {{email}}, } and {"), 0);
    assert_int_equal(check("{{ link"), MAIL_TEMPLATE_BAD);
    assert_int_equal(check("{{ content }}"), MAIL_TEMPLATE_BAD);
    assert_int_equal(check("{{}}"), MAIL_TEMPLATE_BAD);
    assert_int_equal(check("{{ $svc.secrets.X }}"), MAIL_TEMPLATE_BAD);
    assert_int_equal(mail_template_uses(STR("{{ content }}{{content}} content"), "content"), 2);
}

TEST(test_defaults)
{
    struct str reason;

    for (int i = 0; i < MAIL_TYPES; i++) {
        const struct mail_template *it = mail_template_default((enum mail_type)i);
        const char *const *names = mail_template_variables((enum mail_type)i);
        assert_int_equal(mail_template_check(arena, it->subject, names, &reason), 0);
        assert_int_equal(mail_template_check(arena, it->body_html, names, &reason), 0);
        assert_int_equal(mail_template_uses(it->body_html, "link"), 1);
        assert_int_equal(mail_type_find(str_from(mail_type_name((enum mail_type)i))), i);
    }
    assert_int_equal(mail_type_find(STR("workflow")), -1);
    assert_int_equal(
        mail_template_check(arena, mail_shell_default(), mail_shell_variables(), &reason), 0);
    assert_int_equal(mail_template_uses(mail_shell_default(), "content"), 1);
}

TEST(test_filling)
{
    static const struct mail_template template = {
        .subject = STR_INIT("For {{ email }}"),
        .body_html = STR_INIT("<a href=\"{{ link }}\">{{ project_name }}</a>"),
    };
    struct mail_variables variables = {0};
    struct mail_rendered mail;

    mail_variable_set(&variables, "email", STR("a@b\r\nBcc: c@d"));
    mail_variable_set(&variables, "link", STR("https://x/?a=1&b=\"><script>"));
    mail_variable_set(&variables, "project_name", STR("<b>'Shop'</b> {{ email }}"));
    assert_int_equal(mail_template_render(
                         arena, &template, STR("[{{ content }}|{{ subject }}]"), &variables, &mail),
                     0);
    assert_true(str_is(mail.subject, "For a@b  Bcc: c@d"));
    assert_true(str_is(mail.html,
                       "[<a href=\"https://x/?a=1&amp;b=&quot;&gt;&lt;script&gt;\">"
                       "&lt;b&gt;&#39;Shop&#39;&lt;/b&gt; {{ email }}</a>|For a@b  Bcc: c@d]"));
    assert_true(str_is(mail.text, "<b>'Shop'</b> {{ email }} (https://x/?a=1&b=\"><script>)\n"));
}

/* The number of variables in a template is bounded, and a mail that gets too long is refused. */
TEST(test_too_much)
{
    static const struct mail_template template = {
        .subject = STR_INIT("x"),
        .body_html = STR_INIT("{{ email }}{{ email }}{{ email }}"),
    };
    struct mail_variables variables = {0};
    struct mail_rendered mail;
    struct strbuf text;

    strbuf_init(&text, arena, (size_t)1 << 20);
    for (int i = 0; i < MAIL_TEMPLATE_VARIABLES; i++)
        strbuf_cstr(&text, "{{ link }}");
    assert_int_equal(check(strbuf_cstring(&text)), 0);
    strbuf_cstr(&text, "{{ link }}");
    assert_int_equal(check(strbuf_cstring(&text)), MAIL_TEMPLATE_BAD);

    char *value = arena_alloc(arena, 400000);
    memset(value, 'x', 400000);
    mail_variable_set(&variables, "email", (struct str){value, 400000});
    assert_int_equal(
        mail_template_render(arena, &template, STR("{{ content }}"), &variables, &mail),
        MAIL_TEMPLATE_BAD);
    variables.items[0].value.len = 300000;
    assert_int_equal(
        mail_template_render(arena, &template, STR("{{ content }}"), &variables, &mail), 0);
    assert_int_equal(mail.html.len, 900000);
}

TEST(test_plain)
{
    static const struct {
        const char *html, *text;
    } cases[] = {
        {"", ""},
        {"one  two\n three", "one two three\n"},
        {"<p>one</p><p>two<br>three</p>", "one\n\ntwo\nthree\n"},
        {"<style>p{}</style><!-- x > y --><h1>T</h1>text<script>a<b</script>!", "T\n\ntext!\n"},
        {"<ul><li>a</li><li>b &amp; c</li></ul>", "- a\n- b & c\n"},
        {"<a href='https://x.example/'>https://x.example/</a>", "https://x.example/\n"},
        {"<a class=b href=https://x.example/?a&amp;b>go</a> on",
         "go (https://x.example/?a&b) on\n"},
        {"&#228;&#x41;&unknown;&lt;&", "\xC3\xA4&#x41;&unknown;<&\n"},
        {"<td>a</td><td>b</td>", "a b\n"},
        {"<style>never ends", ""},
        {"<a href", ""},
        {"a < b", "a\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str text = mail_plain_of_html(arena, str_from(cases[i].html));
        if (!str_is(text, cases[i].text))
            fail_msg("%s: \"%.*s\"", cases[i].html, STR_ARG(text));
    }
}

static int begin(void **state UNUSED)
{
    arena = arena_new(0);
    return 0;
}

static int end(void **state UNUSED)
{
    arena_free(arena);
    return 0;
}

GROUP(begin, end)
