/* The list of all lives of areas. The file with <name>_life defines the functions. */
#include "app.h"

#define LIVES(LIFE)                                                                                \
    LIFE(auth_password)                                                                            \
    LIFE(auth_page)                                                                                \
    LIFE(mail_domains)                                                                             \
    LIFE(search_bounds)                                                                            \
    LIFE(chart_cache)                                                                              \
    LIFE(chart_image)                                                                              \
    LIFE(docs_cache)                                                                               \
    LIFE(hub)                                                                                      \
    LIFE(ai_follow)                                                                                \
    LIFE(ai_completions) /* before ai_limits: its settle() begins background tasks */              \
    LIFE(ai_limits)                                                                                \
    LIFE(ai_models)

#define DECLARE(name) extern const struct area_life name##_life;
LIVES(DECLARE)

#define LIST(name) &name##_life,
static const struct area_life *const lives[] = {LIVES(LIST)};

#define EACH_LIFE(function, ...)                                                                   \
    for (size_t i = 0; i < ARRAY_LEN(lives); i++)                                                  \
        if (lives[i]->function)                                                                    \
    lives[i]->function(__VA_ARGS__)

void lives_prepare(void)
{
    EACH_LIFE(prepare);
}

void lives_start(struct directory *directory, const struct app_conf *conf)
{
    EACH_LIFE(start, directory, conf);
}

void lives_drain(void)
{
    EACH_LIFE(drain);
}

void lives_settle(void)
{
    EACH_LIFE(settle);
}

void lives_stop(void)
{
    EACH_LIFE(stop);
}
