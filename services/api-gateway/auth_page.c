/* The address of the page for a project's users, and the addresses to which it may lead. */
#include "auth_page.h"

#include "project/project_settings.h"
#include "project/redirect.h"

/* Returns the configured directory, or "off". */
static struct str auth_page_setting(void)
{
    const struct app_conf *conf = (const struct app_conf *)(const void *)daemon_app()->conf;

    return conf->auth_ui.len ? conf->auth_ui : conf->console;
}

bool auth_page_is_off(void)
{
    return str_is(auth_page_setting(), "off");
}

struct str auth_page_folder(void)
{
    return auth_page_is_off() ? STR_NONE : auth_page_setting();
}

static void auth_page_start(struct directory *directory UNUSED, const struct app_conf *conf)
{
    project_settings_has_own_page(conf->public_url.len && auth_page_folder().len);
}

const struct area_life auth_page_life = {.start = auth_page_start};

struct str auth_page_own_url(struct req *r)
{
    struct str base = gateway_public_base_url(r);

    if (!base.len || !auth_page_folder().len)
        return STR_NONE;
    return arena_printf(r->task.arena, "%.*s" AUTH_PAGE_PATH, STR_ARG(base));
}

/* Compares whole addresses: prefixes and patterns would let codes leak. */
int auth_check_redirect(struct req *r, struct str url)
{
    if (redirect_url_is_listed(&r->scope->project->settings, url))
        return 0;
    return fail(
        r, PROBLEM_REDIRECT_NOT_ALLOWED, "redirect_to must be one of the project's redirect_urls.");
}
