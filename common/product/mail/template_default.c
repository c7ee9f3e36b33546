/*
 * The default templates. Mail programs support little CSS: tables, colours written out, and one
 * style sheet for programs that follow the reader's light or dark scheme.
 */
#include "mail/template.h"

#define BUTTON(words)                                                                              \
    "<table role=\"presentation\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\""                \
    " style=\"margin:28px 0\"><tr><td class=\"button\" bgcolor=\"#2456e6\""                        \
    " style=\"border-radius:8px;background:#2456e6\"><a href=\"{{ link }}\""                       \
    " style=\"display:inline-block;padding:13px 26px;font-weight:600;color:#ffffff;"               \
    "text-decoration:none;border-radius:8px\">" words "</a></td></tr></table>\n"
#define HEADING(words)                                                                             \
    "<h1 class=\"ink\" style=\"margin:0 0 "                                                        \
    "16px;font-size:22px;line-height:30px;color:#14171f\">" words "</h1>\n"
#define TEXT(words) "<p style=\"margin:0 0 16px\">" words "</p>\n"
#define LINK_NOTE                                                                                  \
    "<p class=\"faint\" style=\"margin:0 0 8px;font-size:14px;line-height:21px;color:#667085\">"   \
    "The link works once, for {{ expires_minutes }} minutes. If you did not expect this mail, "    \
    "you can ignore it.</p>\n"

static const struct mail_template defaults[MAIL_TYPES] = {
    [MAIL_CONFIRMATION] =
        {
            .subject = STR_INIT("Confirm your address for {{ project_name }}"),
            .body_html = STR_INIT(HEADING("Confirm your e-mail address") TEXT(
                "Please confirm that <strong>{{ email }}</strong> is yours, and you can sign "
                "in to {{ project_name }}.") BUTTON("Confirm address") LINK_NOTE),
        },
    [MAIL_INVITE] =
        {
            .subject = STR_INIT("You are invited to {{ project_name }}"),
            .body_html = STR_INIT(HEADING("Welcome to {{ project_name }}") TEXT(
                "Choose a password for <strong>{{ email }}</strong> to begin.")
                                      BUTTON("Accept the invitation") LINK_NOTE),
        },
    [MAIL_RECOVERY] =
        {
            .subject = STR_INIT("Choose a new password for {{ project_name }}"),
            .body_html = STR_INIT(HEADING("Choose a new password") TEXT(
                "Someone, hopefully you, requested a new password for "
                "<strong>{{ email }}</strong> at {{ project_name }}. Your current password stays "
                "valid until you choose a new one.") BUTTON("Choose a password") LINK_NOTE),
        },
    [MAIL_MAGIC_LINK] =
        {
            .subject = STR_INIT("Your sign-in link for {{ project_name }}"),
            .body_html = STR_INIT(HEADING("Sign in to {{ project_name }}") TEXT(
                "This link signs <strong>{{ email }}</strong> in, without a password.")
                                      BUTTON("Sign in") LINK_NOTE),
        },
    [MAIL_EMAIL_CHANGE] =
        {
            .subject = STR_INIT("Confirm your new address for {{ project_name }}"),
            .body_html = STR_INIT(HEADING("Change your e-mail address") TEXT(
                "The address of your account at {{ project_name }} changes from "
                "<strong>{{ old_email }}</strong> to <strong>{{ new_email }}</strong> once both "
                "addresses have confirmed the change.") BUTTON("Confirm the change") LINK_NOTE),
        },
    [MAIL_ADDED_TO_PROJECT] =
        {
            .subject = STR_INIT("You have been added to {{ project_name }}"),
            .body_html = STR_INIT(HEADING("You have been added to {{ project_name }}")
                                      TEXT("<strong>{{ email }}</strong> can sign in from now on.")
                                          BUTTON("Open {{ project_name }}")),
        },
};

const struct mail_template *mail_template_default(enum mail_type type)
{
    return &defaults[type];
}

#define FONT "-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"

struct str mail_shell_default(void)
{
    return STR(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta name=\"supported-color-schemes\" content=\"light dark\">\n"
        "<title>{{ subject }}</title>\n<style>\n:root{color-scheme:light dark}\n"
        "@media (prefers-color-scheme:dark){\n"
        ".page{background:#0f1218!important}.card{background:#1a1f29!important;"
        "border-color:#2c3442!important}\n"
        ".card,.card p,.card li{color:#c9d1de!important}.ink{color:#f3f5f9!important}"
        ".faint,.card .faint{color:#94a0b3!important}\n"
        ".button{background:#3d6af0!important}\n}\n"
        "@media (max-width:520px){.card{padding:28px 22px!important}}\n</style>\n</head>\n"
        "<body class=\"page\" style=\"margin:0;padding:0;background:#f2f4f8\">\n"
        "<table role=\"presentation\" class=\"page\" width=\"100%\" cellpadding=\"0\" "
        "cellspacing=\"0\" border=\"0\" style=\"background:#f2f4f8\"><tr>"
        "<td align=\"center\" style=\"padding:40px 16px\">\n"
        "<table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" "
        "border=\"0\" style=\"max-width:560px;table-layout:fixed;overflow-wrap:anywhere;word-break:"
        "break-word;font-family:" FONT "\">\n"
        "<tr><td class=\"ink\" style=\"padding:0 4px 18px;font-size:17px;font-weight:700;"
        "color:#14171f\">{{ project_name }}</td></tr>\n"
        "<tr><td class=\"card\" style=\"padding:36px 40px;background:#ffffff;border:1px solid "
        "#e3e7ef;border-radius:14px;font-size:16px;line-height:25px;color:#3b4252\">\n"
        "{{ content }}</td></tr>\n"
        "<tr><td class=\"faint\" style=\"padding:18px 4px 0;font-size:13px;line-height:19px;"
        "color:#667085\">This mail was sent to {{ email }} by {{ project_name }}.</td></tr>\n"
        "</table>\n</td></tr></table>\n</body>\n</html>\n");
}
