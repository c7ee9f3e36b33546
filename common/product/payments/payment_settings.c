/* Payment settings: stored, and cached until the project's epoch changes. */
#include "payments/payment_settings.h"

#include "base/clock.h"
#include "base/codec.h"
#include "base/list.h"
#include "base/map.h"
#include "json/jr.h"
#include "log/log.h"
#include "payment_settings_sql.h"
#include "payments/money.h"
#include "project/unseal.h"

#define CACHE_MAX          1000
#define SCHEDULE_MAX       100
#define STOREFRONTS_MAX    300
#define GRACE_DAYS_DEFAULT 3
#define DEFAULT_CURRENCY   "usd"

/* --- reading stored settings --- */

/* Stored settings were checked when they were written. Texts are copied, because the JSON tree ends
 * with the task. */
static struct str settings_text_of(struct arena *arena, const json_t *object, const char *name)
{
    struct str text = jr_str(object, name);

    return text.len > 0 ? arena_dup(arena, text) : STR_NONE;
}

static int64_t settings_time_of(const json_t *object, const char *name)
{
    int64_t ms = 0;

    return clock_parse(jr_str(object, name), &ms) ? ms : 0;
}

void processor_account_read(struct arena *arena,
                            const json_t *doc,
                            const json_t *secret,
                            struct processor_account *ret)
{
    const json_t *requirements = json_object_get(doc, "requirements");

    *ret = (struct processor_account){0};
    ret->mode = str_is(jr_str(doc, "mode"), "own") ? PROCESSOR_OWN : PROCESSOR_CONNECT;
    ret->account = settings_text_of(arena, doc, "account");
    ret->business_type = settings_text_of(arena, doc, "business_type");
    ret->country = settings_text_of(arena, doc, "country");
    ret->email = settings_text_of(arena, doc, "email");
    ret->charges_enabled = jr_bool(doc, "charges_enabled", false);
    ret->payouts_enabled = jr_bool(doc, "payouts_enabled", false);
    ret->details_submitted = jr_bool(doc, "details_submitted", false);
    ret->requirements = json_is_object(requirements) ? jr_print(arena, requirements) : STR_NONE;
    ret->secret_key = settings_text_of(arena, secret, "secret_key");

    const json_t *list = json_object_get(secret, "webhook_secrets");
    for (size_t i = 0; i < json_array_size(list) && i < WEBHOOK_SECRETS_MAX; i++) {
        const json_t *item = json_array_get(list, i);
        ret->webhook_secrets[ret->webhook_secret_count++] = (struct webhook_secret){
            .secret = settings_text_of(arena, item, "secret"),
            .expires_ms = settings_time_of(item, "expires_at"),
        };
    }
}

void store_account_read(struct arena *arena,
                        const json_t *doc,
                        const json_t *secret,
                        struct store_account *ret)
{
    const json_t *environments = json_object_get(doc, "environments");

    *ret = (struct store_account){0};
    ret->issuer_id = settings_text_of(arena, doc, "issuer_id");
    ret->key_id = settings_text_of(arena, doc, "key_id");
    ret->bundle_id = settings_text_of(arena, doc, "bundle_id");
    ret->app_apple_id = jr_i64(doc, "app_apple_id", 0);
    for (size_t i = 0; i < json_array_size(environments); i++) {
        struct str name = str_from(json_string_value(json_array_get(environments, i)));
        ret->environments |= str_is(name, "production") ? STORE_PRODUCTION
                             : str_is(name, "sandbox")  ? STORE_SANDBOX
                                                        : 0U;
    }
    if (!codec_b64_decode(arena, jr_str(secret, "private_key"), &ret->private_key))
        ret->private_key = STR_NONE;
    ret->configured = ret->private_key.len > 0 && ret->bundle_id.len > 0;
}

/* A rate of two decimals is read as an amount of two decimals: basis points take the place of
 * cents. */
static int64_t basis_points_of(const json_t *object, const char *name)
{
    int64_t points = 0;

    return money_from_json(json_object_get(object, name), STR(DEFAULT_CURRENCY), &points) == 0
               ? points
               : 0;
}

static int64_t minor_of(const json_t *object, const char *name, struct str currency)
{
    int64_t minor = 0;

    return money_from_json(json_object_get(object, name), currency, &minor) == 0 ? minor : 0;
}

static void fees_read(struct arena *arena, const json_t *doc, struct platform_fee *ret)
{
    struct str currency = settings_text_of(arena, doc, "currency");

    ret->currency = currency.len > 0 ? currency : STR(DEFAULT_CURRENCY);
    ret->basis_points = basis_points_of(doc, "percent");
    ret->fixed_minor = minor_of(doc, "fixed", ret->currency);
}

static void schedule_read(struct arena *arena, const json_t *doc, struct payment_settings *ret)
{
    const json_t *rows = json_object_get(doc, "rows");
    size_t count = json_array_size(rows);

    if (count == 0) {
        ret->schedule = processor_fee_default(&ret->schedule_count);
        return;
    }
    if (count > SCHEDULE_MAX)
        count = SCHEDULE_MAX;
    struct processor_fee *schedule = ARENA_ARRAY(arena, schedule, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        struct str currency = settings_text_of(arena, row, "currency");
        schedule[i] = (struct processor_fee){
            .country = settings_text_of(arena, row, "country"),
            .basis_points = basis_points_of(row, "percent"),
            .fixed_minor = minor_of(row, "fixed", currency),
            .currency = currency,
            .international_basis_points = basis_points_of(row, "international_percent"),
            .conversion_basis_points = basis_points_of(row, "conversion_percent"),
            .recurring_basis_points = basis_points_of(row, "recurring_percent"),
        };
    }
    ret->schedule = schedule;
    ret->schedule_count = count;
}

/* Storefronts where the store lets an app link to a web checkout, unless the project names
 * others. */
static struct str default_storefronts[] = {STR_INIT("USA")};

static void options_read(struct arena *arena, const json_t *doc, struct payment_settings *ret)
{
    const json_t *storefronts = json_object_get(doc, "web_checkout_storefronts");
    size_t count = json_array_size(storefronts);

    ret->grace_days = jr_i64(doc, "grace_days", GRACE_DAYS_DEFAULT);
    ret->success_url = settings_text_of(arena, doc, "success_url");
    ret->cancel_url = settings_text_of(arena, doc, "cancel_url");
    ret->web_checkout_storefronts = default_storefronts;
    ret->web_checkout_storefront_count = ARRAY_LEN(default_storefronts);
    if (!json_is_array(storefronts))
        return;
    if (count > STOREFRONTS_MAX)
        count = STOREFRONTS_MAX;
    ret->web_checkout_storefronts = ARENA_ARRAY(arena, ret->web_checkout_storefronts, count);
    ret->web_checkout_storefront_count = count;
    for (size_t i = 0; i < count; i++)
        ret->web_checkout_storefronts[i] =
            arena_dup(arena, str_from(json_string_value(json_array_get(storefronts, i))));
}

/* Opens the sealed text of a row; STR_NONE when there is none. A text that cannot be opened is an
 * error: continuing would look as if nothing had been configured. */
static int sealed_open(struct task *task,
                       struct project *project,
                       struct str key,
                       struct str sealed,
                       struct str *ret_secret)
{
    struct str aad = aad_setting(task->arena, project->number, STR(PAYMENT_SETTINGS_KIND), key);

    *ret_secret = STR_NONE;
    if (!sealed.ptr)
        return 0;
    int rc = data_key_open(task, project, sealed, aad, ret_secret);
    if (rc <= 0)
        return rc;
    log_error("payments.secret_unreadable", L_STR("project", project->slug), L_STR("key", key));
    return ERROR(DB_FAILED);
}

static json_t *settings_parse(struct arena *arena, struct str text)
{
    struct jr_error error;
    json_t *doc = NULL;

    if (text.len > 0 && jr_parse_stored(arena, text, &doc, &error) != 0)
        log_error("payments.settings_unreadable", L_CSTR("error", error.text));
    return doc;
}

/* Every row is optional, and a key has at most one. */
static int settings_read_all(struct task *task,
                             struct project *project,
                             const struct rows *rows,
                             struct arena *arena,
                             struct payment_settings *ret)
{
    const json_t *docs[] = {NULL, NULL, NULL, NULL, NULL};
    const json_t *secrets[] = {NULL, NULL, NULL, NULL, NULL};
    static const char *const keys[] = {PAYMENT_SETTINGS_PROCESSOR,
                                       PAYMENT_SETTINGS_FEES,
                                       PAYMENT_SETTINGS_SCHEDULE,
                                       PAYMENT_SETTINGS_OPTIONS,
                                       PAYMENT_SETTINGS_STORE};

    for (size_t row = 0; row < rows->count; row++) {
        const struct sql_payment_setting_row at = sql_payment_setting_row(task->arena, rows, row);
        struct str secret;
        TRY(sealed_open(task, project, at.key, at.sealed, &secret));
        for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
            if (!str_is(at.key, keys[i]))
                continue;
            docs[i] = settings_parse(task->arena, at.doc);
            secrets[i] = settings_parse(task->arena, secret);
        }
    }
    processor_account_read(arena, docs[0], secrets[0], &ret->processor);
    fees_read(arena, docs[1], &ret->fee);
    schedule_read(arena, docs[2], ret);
    options_read(arena, docs[3], ret);
    store_account_read(arena, docs[4], secrets[4], &ret->store);
    return 0;
}

/* --- the cache --- */

/* A project's settings of one epoch, in an arena of their own. */
struct settings_entry {
    struct list link; /* least recently used first; only while cached */
    struct arena *arena;
    struct payment_settings settings;
    int64_t number, epoch;
    int refs; /* one for the cache, and one for each task */
};

static struct map *cache; /* number (8 bytes) -> struct settings_entry */
static struct list order;

static struct str settings_key_of(const int64_t *number)
{
    return (struct str){(const char *)number, sizeof(*number)};
}

static void settings_entry_unref(void *ptr)
{
    struct settings_entry *entry = ptr;

    if (--entry->refs == 0)
        arena_free(entry->arena);
}

static void settings_entry_drop(struct settings_entry *entry)
{
    (void)map_remove(cache, settings_key_of(&entry->number));
    list_remove(&entry->link);
    settings_entry_unref(entry);
}

static void settings_entry_cache(struct settings_entry *entry)
{
    struct settings_entry *before = map_get(cache, settings_key_of(&entry->number));

    if (before != NULL)
        settings_entry_drop(before);
    if (map_size(cache) >= CACHE_MAX)
        settings_entry_drop(LIST_ITEM(order.next, struct settings_entry, link));
    entry->refs++;
    (void)map_put(cache, settings_key_of(&entry->number), entry);
    list_append(&order, &entry->link);
}

static struct settings_entry *settings_entry_find(const struct project *project)
{
    if (cache == NULL) {
        cache = map_new();
        list_init(&order);
    }
    struct settings_entry *entry = map_get(cache, settings_key_of(&project->number));
    if (entry == NULL || entry->epoch != project->epoch)
        return NULL;
    list_remove(&entry->link);
    list_append(&order, &entry->link);
    return entry;
}

int payment_settings_get(struct task *task,
                         struct project *project,
                         const struct payment_settings **ret_settings)
{
    struct settings_entry *entry = settings_entry_find(project);
    struct rows rows;

    if (entry == NULL) {
        /* Take the epoch before the read: if settings change during the read, the next caller reads
         * them again. */
        int64_t epoch = project->epoch;
        TRY(db_query(task, &project->db, SQL_PAYMENT_SETTINGS_ALL(), &rows));
        struct arena *arena = arena_new(0);
        entry = ARENA_NEW(arena, entry);
        *entry = (struct settings_entry){
            .arena = arena, .number = project->number, .epoch = epoch, .refs = 1};
        arena_defer(task->arena, settings_entry_unref, entry);
        TRY(settings_read_all(task, project, &rows, arena, &entry->settings));
        settings_entry_cache(entry);
    } else {
        entry->refs++;
        arena_defer(task->arena, settings_entry_unref, entry);
    }
    *ret_settings = &entry->settings;
    return 0;
}

int payment_settings_read(struct task *task,
                          struct project *project,
                          struct db *db,
                          const struct payment_settings **ret_settings)
{
    struct payment_settings *settings = ARENA_NEW(task->arena, settings);
    struct rows rows;

    TRY(db_query(task, db, SQL_PAYMENT_SETTINGS_ALL(), &rows));
    TRY(settings_read_all(task, project, &rows, task->arena, settings));
    *ret_settings = settings;
    return 0;
}

bool payment_processor_ready(const struct payment_settings *settings)
{
    const struct processor_account *account = &settings->processor;

    if (account->secret_key.len == 0)
        return false;
    return account->mode == PROCESSOR_OWN || (account->account.len > 0 && account->charges_enabled);
}

/* --- storing --- */

struct db_call payment_settings_put(struct arena *arena,
                                    struct project *project,
                                    const char *key,
                                    struct str doc,
                                    struct str secret)
{
    struct str aad = aad_setting(arena, project->number, STR(PAYMENT_SETTINGS_KIND), str_from(key));
    struct str sealed =
        secret.len > 0 ? aead_seal(arena, &project->data_key, secret, aad) : STR_NONE;

    return db_call_new(arena,
                       SQL_PAYMENT_SETTINGS_PUT(.key = str_from(key),
                                                .doc = doc,
                                                .sealed = sealed,
                                                .keep_sealed = secret.ptr == NULL));
}

int payment_settings_lock(struct task *task,
                          struct db *tx,
                          struct project *project,
                          const char *key,
                          json_t **ret_doc,
                          struct str *ret_secret)
{
    struct rows rows;
    struct str secret = STR_NONE;

    TRY(db_query(task, tx, SQL_PAYMENT_SETTINGS_LOCK(.key = str_from(key)), &rows));
    const struct sql_payment_setting_row row = sql_payment_setting_row(task->arena, &rows, 0);
    if (ret_secret != NULL)
        TRY(sealed_open(task, project, row.key, row.sealed, &secret));
    json_t *doc = settings_parse(task->arena, row.doc);
    if (!json_is_object(doc))
        return ERROR(DB_FAILED);
    *ret_doc = doc;
    if (ret_secret != NULL)
        *ret_secret = secret;
    return 0;
}

int payment_project_register(struct task *task, struct directory *directory, int64_t number)
{
    return db_query(
        task, directory_control(directory), SQL_PAYMENT_PROJECT_REGISTER(.number = number), NULL);
}
