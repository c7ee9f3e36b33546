/* Settings of payments: defaults, stored and sealed values, and the cache. */
#include "unit.h"

#include "project_test.h"

#include "payments/payment_settings.h"
#include "project/unseal.h"

static const struct payment_settings *get(struct task *task, struct project *project)
{
    const struct payment_settings *settings = NULL;

    assert_int_equal(payment_settings_get(task, project, &settings), 0);
    return settings;
}

static void
put(struct task *task, struct project *project, const char *key, const char *doc, struct str secret)
{
    struct db_call call = payment_settings_put(task->arena, project, key, str_from(doc), secret);

    assert_int_equal(db_batch(task, &project->db, &call, 1, NULL), 0);
}

/* --- defaults --- */

static void run_defaults(struct task *task, struct directory *one, struct directory *two)
{
    (void)two;
    size_t count;
    struct project *project = make_new(task, one, "shop");
    const struct payment_settings *settings = get(task, project);

    assert_int_equal(settings->processor.secret_key.len, 0);
    assert_int_equal(settings->processor.mode, PROCESSOR_CONNECT);
    assert_false(payment_processor_ready(settings));
    assert_false(settings->store.configured);
    assert_int_equal(settings->fee.basis_points, 0);
    assert_int_equal(settings->fee.fixed_minor, 0);
    assert_true(str_is(settings->fee.currency, "usd"));
    assert_ptr_equal(settings->schedule, processor_fee_default(&count));
    assert_int_equal(settings->schedule_count, count);
    assert_int_equal(settings->grace_days, 3);
    assert_int_equal(settings->web_checkout_storefront_count, 1);
    assert_true(str_is(settings->web_checkout_storefronts[0], "USA"));
    assert_null(settings->success_url.ptr);
}

TEST(test_defaults)
{
    run(run_defaults);
}

/* --- all settings --- */

static const char processor_doc[] =
    "{\"mode\":\"own\",\"account\":\"acct_1\",\"business_type\":\"company\",\"country\":\"DE\","
    "\"email\":\"a@b.c\",\"charges_enabled\":true,\"details_submitted\":true,"
    "\"requirements\":{\"currently_due\":[\"x\"]}}";
static const char processor_secret[] =
    "{\"secret_key\":\"sk_1\",\"webhook_secrets\":[{\"secret\":\"w1\"},"
    "{\"secret\":\"w2\",\"expires_at\":\"1970-01-01T00:00:01Z\"},{\"secret\":\"w3\"},"
    "{\"secret\":\"w4\"},{\"secret\":\"w5\"},{\"secret\":\"w6\"}]}";
static const char schedule_doc[] =
    "{\"rows\":[{\"country\":\"DE\",\"percent\":1.5,\"fixed\":0.25,\"currency\":\"eur\","
    "\"international_percent\":1.75,\"conversion_percent\":2,\"recurring_percent\":0.7},"
    "{\"country\":\"*\",\"percent\":3,\"fixed\":30,\"currency\":\"jpy\"}]}";
static const char store_doc[] =
    "{\"issuer_id\":\"i\",\"key_id\":\"k\",\"bundle_id\":\"b\",\"app_apple_id\":7,"
    "\"environments\":[\"sandbox\",\"production\",\"other\"]}";

static void check_processor(const struct processor_account *account)
{
    assert_int_equal(account->mode, PROCESSOR_OWN);
    assert_true(str_is(account->secret_key, "sk_1"));
    assert_true(str_is(account->account, "acct_1"));
    assert_true(str_is(account->country, "DE"));
    assert_true(account->charges_enabled && account->details_submitted);
    assert_false(account->payouts_enabled);
    assert_true(str_is(account->requirements, "{\"currently_due\":[\"x\"]}"));
    assert_int_equal(account->webhook_secret_count, WEBHOOK_SECRETS_MAX);
    assert_true(str_is(account->webhook_secrets[1].secret, "w2"));
    assert_int_equal(account->webhook_secrets[1].expires_ms, 1000);
    assert_int_equal(account->webhook_secrets[0].expires_ms, 0);
}

static void run_all(struct task *task, struct directory *one, struct directory *two)
{
    (void)two;
    struct project *project = make_new(task, one, "shop");

    put(task, project, PAYMENT_SETTINGS_PROCESSOR, processor_doc, STR(processor_secret));
    put(task,
        project,
        PAYMENT_SETTINGS_FEES,
        "{\"percent\":2.25,\"fixed\":0.3,\"currency\":\"eur\"}",
        STR_NONE);
    put(task, project, PAYMENT_SETTINGS_SCHEDULE, schedule_doc, STR_NONE);
    put(task,
        project,
        PAYMENT_SETTINGS_OPTIONS,
        "{\"grace_days\":0,\"web_checkout_storefronts\":[],\"success_url\":\"https://a\"}",
        STR_NONE);
    put(task, project, PAYMENT_SETTINGS_STORE, store_doc, STR("{\"private_key\":\"AQID\"}"));
    put(task, project, "of_a_later_release", "{\"a\":1}", STR_NONE);
    const struct payment_settings *settings = get(task, project);
    check_processor(&settings->processor);
    assert_true(payment_processor_ready(settings));
    assert_int_equal(settings->fee.basis_points, 225);
    assert_int_equal(settings->fee.fixed_minor, 30);
    assert_int_equal(settings->schedule_count, 2);
    assert_int_equal(settings->schedule[0].international_basis_points, 175);
    assert_int_equal(settings->schedule[0].conversion_basis_points, 200);
    assert_int_equal(settings->schedule[0].recurring_basis_points, 70);
    assert_int_equal(settings->schedule[1].fixed_minor, 30);
    assert_int_equal(settings->grace_days, 0);
    assert_int_equal(settings->web_checkout_storefront_count, 0);
    assert_true(str_is(settings->success_url, "https://a"));
    assert_true(settings->store.configured);
    assert_int_equal(settings->store.environments, STORE_PRODUCTION | STORE_SANDBOX);
    assert_int_equal(settings->store.app_apple_id, 7);
    assert_true(str_eq(settings->store.private_key, STR("\1\2\3")));
}

TEST(test_all)
{
    run(run_all);
}

TEST(test_ready)
{
    struct payment_settings settings = {.processor = {.mode = PROCESSOR_CONNECT}};
    struct processor_account *account = &settings.processor;

    account->charges_enabled = true;
    account->account = STR("acct_1");
    assert_false(payment_processor_ready(&settings));
    account->secret_key = STR("sk_1");
    assert_true(payment_processor_ready(&settings));
    account->charges_enabled = false;
    assert_false(payment_processor_ready(&settings));
    account->mode = PROCESSOR_OWN;
    account->account = STR_NONE;
    assert_true(payment_processor_ready(&settings));
}

/* --- the cache --- */

static void run_cache(struct task *task, struct directory *one, struct directory *two)
{
    (void)two;
    struct project *project = make_new(task, one, "shop");
    const struct payment_settings *before = get(task, project);

    assert_ptr_equal(before, get(task, project));
    put(task, project, PAYMENT_SETTINGS_OPTIONS, "{\"grace_days\":9}", STR_NONE);
    assert_ptr_equal(before, get(task, project));
    project_epoch_raise(task, one, project);
    const struct payment_settings *after = get(task, project);
    assert_int_equal(after->grace_days, 9);
    assert_ptr_equal(after, get(task, project));
    assert_int_equal(before->grace_days, 3); /* held until the task ends */
}

TEST(test_cache)
{
    run(run_cache);
}

/* The cache holds a limited number of projects. The project that was not read for the longest
 * time is dropped first. */
static void run_bounded(struct task *task, struct directory *one, struct directory *two)
{
    (void)two;
    struct project *project = make_new(task, one, "shop");
    struct project other = *project;
    const struct payment_settings *first = get(task, project);

    for (int64_t i = 0; i < 999; i++) {
        other.number = 1000000 + i; /* the same rows under another number */
        (void)get(task, &other);
    }
    assert_ptr_equal(first, get(task, project));
    for (int64_t i = 0; i < 1000; i++) {
        other.number = 2000000 + i;
        (void)get(task, &other);
    }
    assert_ptr_not_equal(first, get(task, project));
}

TEST(test_bounded)
{
    run(run_bounded);
}

/* --- sealed settings --- */

static void say(const char *text)
{
    (void)text;
}

static int
sealed_text(struct task *task, struct project *project, const char *key, struct str *ret_secret)
{
    json_t *doc;

    return payment_settings_lock(task, &project->db, project, key, &doc, ret_secret);
}

static void run_sealed(struct task *task, struct directory *one, struct directory *two)
{
    (void)two;
    struct project *project = make_new(task, one, "shop");
    struct str secret = STR_NONE;
    struct str reason = STR_NONE;

    put(task, project, PAYMENT_SETTINGS_PROCESSOR, processor_doc, STR(processor_secret));
    put(task, project, PAYMENT_SETTINGS_PROCESSOR, "{\"mode\":\"connect\"}", STR_NONE);
    assert_true(str_is(get(task, project)->processor.secret_key, "sk_1")); /* unchanged */
    assert_int_equal(number(task,
                            &project->db,
                            "select count(*) from {p}.settings where kind = 'payments' and "
                            "(position('sk_1'::bytea in sealed) > 0 or doc::text like '%sk_1%')"),
                     0);
    assert_int_equal(sealed_text(task, project, PAYMENT_SETTINGS_PROCESSOR, &secret), 0);
    assert_true(str_is(secret, processor_secret));

    assert_int_equal(data_keys_rotate(task, one, 0, say, &reason), 0);
    project_epoch_raise(task, one, project);
    assert_true(str_is(get(task, project)->processor.secret_key, "sk_1"));

    put(task, project, PAYMENT_SETTINGS_PROCESSOR, "{}", STR(""));
    assert_int_equal(sealed_text(task, project, PAYMENT_SETTINGS_PROCESSOR, &secret), 0);
    assert_null(secret.ptr);
    assert_int_equal(sealed_text(task, project, "nothing", &secret), 0);
    assert_null(secret.ptr);
}

TEST(test_sealed)
{
    run(run_sealed);
}

/* Settings that cannot be opened are an error, and the error is not cached. */
static void run_unreadable(struct task *task, struct directory *one, struct directory *two)
{
    (void)two;
    struct project *project = make_new(task, one, "shop");
    const struct payment_settings *settings = NULL;
    struct str secret;

    put(task, project, PAYMENT_SETTINGS_PROCESSOR, processor_doc, STR(processor_secret));
    /* a value that is sealed for one place does not open in another */
    exec(task,
         &project->db,
         "insert into {p}.settings (kind, key, sealed) select kind, 'iap_store', sealed "
         "from {p}.settings where kind = 'payments'");
    assert_int_equal(payment_settings_get(task, project, &settings), DB_FAILED);
    assert_int_equal(sealed_text(task, project, PAYMENT_SETTINGS_STORE, &secret), DB_FAILED);
    exec(task, &project->db, "delete from {p}.settings where key = 'iap_store'");
    assert_true(str_is(get(task, project)->processor.secret_key, "sk_1"));
}

TEST(test_unreadable)
{
    run(run_unreadable);
}

/* --- changes --- */

static void run_lock(struct task *task, struct directory *one, struct directory *two)
{
    (void)two;
    struct project *project = make_new(task, one, "shop");
    struct str secret = STR("unset");
    json_t *doc = NULL;
    struct db *tx;

    assert_int_equal(db_begin(task, &project->db, &tx), 0);
    assert_int_equal(
        payment_settings_lock(task, tx, project, PAYMENT_SETTINGS_PROCESSOR, &doc, &secret), 0);
    assert_int_equal(json_object_size(doc), 0);
    assert_null(secret.ptr);
    assert_int_equal(json_object_set_new(doc, "account", json_string("acct_9")), 0);
    struct db_call call = payment_settings_put(task->arena,
                                               project,
                                               PAYMENT_SETTINGS_PROCESSOR,
                                               jr_print(task->arena, doc),
                                               STR("{\"secret_key\":\"sk_9\"}"));
    assert_int_equal(db_batch_commit(task, tx, &call, 1, NULL), 0);

    assert_int_equal(db_begin(task, &project->db, &tx), 0);
    assert_int_equal(
        payment_settings_lock(task, tx, project, PAYMENT_SETTINGS_PROCESSOR, &doc, NULL), 0);
    assert_true(str_is(jr_str(doc, "account"), "acct_9"));
    assert_int_equal(
        payment_settings_lock(task, tx, project, PAYMENT_SETTINGS_PROCESSOR, &doc, &secret), 0);
    assert_true(str_is(secret, "{\"secret_key\":\"sk_9\"}"));
    db_rollback(tx);
}

TEST(test_lock)
{
    run(run_lock);
}

static void run_register(struct task *task, struct directory *one, struct directory *two)
{
    (void)two;
    struct project *project = make_new(task, one, "shop");
    const char *count =
        arena_printf(task->arena,
                     "select count(*) from platform.payment_projects where number = %lld",
                     (long long)project->number)
            .ptr;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(payment_project_register(task, one, project->number), 0);
        assert_int_equal(number(task, directory_control(one), count), 1);
    }
    /* A project without a control row cannot be registered. project_delete() deletes the control
     * row last, and the registration with it. */
    assert_int_equal(payment_project_register(task, one, 999999999), DB_FOREIGN_KEY);
}

TEST(test_register)
{
    run(run_register);
}
