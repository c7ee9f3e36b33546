/* Names of results, and the place where an unexpected result arose. */
#include "base/result.h"

#include <string.h>

static _Thread_local struct result_site own;
static _Thread_local struct result_site *current;

static const char *const names[] = {
#define RESULT(name, text) [(name)-RESULT_FIRST] = #name,
#include "base/result.def"
#undef RESULT
};

const char *result_name(int rc)
{
    const char *name = NULL;

    if (rc == 0)
        return "OK";
    if (rc >= 100 && rc < 600)
        return "HTTP_STATUS";
    if (rc < 0)
        name = rc > -4096 ? strerrorname_np(-rc) : NULL;
    else if (rc > RESULT_FIRST && rc < RESULT_END)
        name = names[rc - RESULT_FIRST];
    return name ? name : "?";
}

int result_record(int rc, const char *file, int line)
{
    struct result_site *site = current ? current : &own;

    if (site->rc != rc)
        *site = (struct result_site){file, line, rc};
    return rc;
}

void result_site_set(struct result_site *site)
{
    current = site;
}
