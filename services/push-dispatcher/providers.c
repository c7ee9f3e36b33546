/* Reads, opens and caches the credentials of projects. */
#include "providers.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/panic.h"
#include "crypto/ec.h"
#include "dispatch_fan_out_sql.h"
#include "json/jr.h"
#include "project/unseal.h"

#define CACHE_MAX 1000

static struct map *cache; /* project's number -> struct providers, each held once */

/* --- reading stored credentials --- */

static void read_fcm(struct providers *p, struct str doc, struct str plain)
{
    struct arena *arena = p->arena;
    struct jr_error ignored;
    json_t *root;

    if (fcm_account_read(arena, plain, &p->account) != 0)
        return;
    p->has_fcm = true;
    p->send_url = fcm_send_url(arena, dispatcher_conf()->fcm_url, &p->account);
    if (jr_parse(arena, doc, &root, &ignored) != 0)
        return;
    const json_t *source = json_object_get(root, "source");
    p->source = (struct push_source){
        .entity_id = jr_i64(source, "entity_id", 0),
        .token_field_id = jr_i64(source, "token_field_id", 0),
        .owner_field_id = jr_i64(source, "owner_field_id", 0),
    };
}

static void read_web(struct providers *p, struct str doc, struct str plain)
{
    struct jr_error ignored;
    json_t *root;

    if (jr_parse(p->arena, doc, &root, &ignored) != 0 || ec_key_from_pkcs8(plain, &p->key) != 0)
        return;
    struct str subject = jr_str(root, "subject");
    if (ec_key_has_private(p->key) && subject.len > 0 && subject.len <= VAPID_SUBJECT_MAX)
        p->vapid = vapid_new(p->key, subject);
}

AWAITS static int providers_read_one(struct task *task,
                                     struct project *project,
                                     struct providers *p,
                                     const struct rows *rows,
                                     size_t i)
{
    const struct sql_send_credentials_row row = sql_send_credentials_row(task->arena, rows, i);
    struct str place = aad_setting(task->arena, project->number, STR("push"), row.key);
    struct str plain;

    if (row.sealed.len == 0)
        return 0;
    int rc = data_key_open(task, project, row.sealed, place, &plain);
    if (rc == AEAD_BAD) {
        log_warn("providers.not_opened", L_I64("project", project->number), L_STR("key", row.key));
        return 0;
    }
    if (rc != 0)
        return rc;
    if (str_is(row.key, "fcm"))
        read_fcm(p, row.doc, plain);
    else
        read_web(p, row.doc, plain);
    return 0;
}

/* Returns all texts of the rows, which differ when the credentials do. */
static struct str providers_text(struct arena *arena, const struct rows *rows)
{
    struct str text = STR("");

    for (size_t i = 0; i < rows->count; i++) {
        struct str key = rows_str(rows, i, 0);
        struct str doc = rows_str(rows, i, 1);
        struct str sealed = rows_str(rows, i, 2);
        text = arena_printf(arena,
                            "%.*s%.*s:%.*s:%.*s;",
                            STR_ARG(text),
                            STR_ARG(key),
                            STR_ARG(doc),
                            STR_ARG(sealed));
    }
    return text;
}

/* --- the cache --- */

static struct providers *providers_new(int64_t project, struct str made_of)
{
    struct providers *p = calloc(1, sizeof(*p));

    MUST(p != NULL);
    p->refs = 1;
    p->project = project;
    p->arena = arena_new(0);
    p->rows_text = arena_dup(p->arena, made_of);
    list_init(&p->grant.waiters);
    window_init(&p->window);
    return p;
}

void providers_release(struct providers *p)
{
    if (p == NULL || --p->refs > 0)
        return;
    window_done(&p->window);
    vapid_free(p->vapid);
    ec_key_free(p->key);
    if (p->grant.arena != NULL)
        arena_free(p->grant.arena);
    arena_free(p->arena);
    free(p);
}

static struct str providers_name(struct arena *arena, int64_t project)
{
    return arena_printf(arena, "%lld", (long long)project);
}

static void providers_cache_remove(int64_t project)
{
    char name[24];
    struct str key = {name, (size_t)snprintf(name, sizeof(name), "%lld", (long long)project)};

    providers_release(map_remove(cache, key));
}

static void providers_evict_oldest(void)
{
    const struct providers *oldest = NULL;
    size_t cursor = 0;
    struct str name;
    void *value = NULL;

    if (map_size(cache) < CACHE_MAX)
        return;
    while (map_next(cache, &cursor, &name, &value)) {
        const struct providers *p = value;
        if (oldest == NULL || p->used_mono_ms < oldest->used_mono_ms)
            oldest = p;
    }
    if (oldest != NULL)
        providers_cache_remove(oldest->project);
}

static void providers_cache_put(struct arena *arena, struct providers *p)
{
    providers_evict_oldest();
    providers_release(map_put(cache, providers_name(arena, p->project), providers_hold(p)));
}

int providers_get(struct task *task, struct project *project, struct providers **ret)
{
    struct rows rows;

    if (cache == NULL)
        cache = map_new();
    TRY(db_query(task, &project->db, SQL_SEND_CREDENTIALS(), &rows));
    struct str made_of = providers_text(task->arena, &rows);
    struct providers *p = map_get(cache, providers_name(task->arena, project->number));
    if (p != NULL && str_eq(p->rows_text, made_of)) {
        p->used_mono_ms = clock_mono_ms();
        *ret = providers_hold(p);
        return 0;
    }
    int rc = 0;
    p = providers_new(project->number, made_of);
    p->used_mono_ms = clock_mono_ms();
    for (size_t i = 0; rc == 0 && i < rows.count; i++)
        rc = providers_read_one(task, project, p, &rows, i);
    if (rc != 0) {
        providers_release(p);
        return rc;
    }
    providers_cache_put(task->arena, p);
    *ret = p;
    return 0;
}

bool providers_has(const struct providers *p, enum push_provider provider)
{
    return provider == PUSH_FCM ? p->has_fcm : p->vapid != NULL;
}

void providers_done(void)
{
    size_t cursor = 0;
    struct str name;
    void *value = NULL;

    if (cache == NULL)
        return;
    while (map_next(cache, &cursor, &name, &value))
        providers_release(value);
    map_free(cache);
    cache = NULL;
}
