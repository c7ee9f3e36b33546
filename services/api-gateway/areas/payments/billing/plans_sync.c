/*
 * Sends plans to the processor. We choose the product's id, so creating the product twice gives one
 * product. A price cannot be changed, so each state of a plan has its own price. The price's lookup
 * key is made of the state and of the previous price, so that a price whose answer was lost is
 * found again. A replaced price is listed as retired until it is inactive at the processor. One
 * gateway at a time syncs a plan. It holds a lease in the plan's row for as long as its next call
 * may take.
 */
#include "areas/payments/billing/plans.h"
#include "areas/payments/pay_common.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/rand.h"
#include "crypto/digest.h"
#include "plans_sync_sql.h"

#define ROUNDS_MAX   10 /* rounds of sending while the plan is saved concurrently */
#define RETIRED_MAX  20 /* listed prices; prices beyond that stay active, but nothing uses them */
#define STATE_DIGITS 24 /* hex digits of the hash in a lookup key */

#define CALL_LIMIT_MS 8000  /* of one call with its retries */
#define LEASE_MS      10000 /* longer than a call; renewed before each call */
#define WAIT_MS       12000 /* longer than the lease of another gateway that has died */
#define POLL_MS       100

struct plan_state {
    int64_t id, amount_minor, interval_count;
    int64_t failures; /* part of keys: the processor repeats a failure under its key */
    struct str name, description, currency, interval;
    bool active;
    struct str product_state, price_state; /* as the row has them now */
    /* The state at the processor, updated after each call. */
    struct str product, price, sent_product_state, sent_price_state;
    struct str prices_to_retire[RETIRED_MAX];
    size_t retired_count;
};

struct sync {
    struct req *r;
    const struct payment_settings *settings;
    struct plan_state plan;
    struct processor_reply reply;
    struct str lease; /* token of our lease; empty = we hold none */
};

/* --- the lease --- */

/* co: Claims the lease. *ret_ours is false while another gateway holds it. */
AWAITS static int sync_claim(struct sync *sync, int64_t id, bool *ret_ours)
{
    struct rows claimed;

    TRY(sql_all(sync->r, &claimed, SQL_PLAN_SYNC_CLAIM(.id = id, .lease_ms = LEASE_MS)));
    *ret_ours = claimed.count > 0;
    if (*ret_ours)
        sync->lease = sql_plan_sync_lease_row(&claimed, 0).lease;
    return 0;
}

/* co: Extends our lease for the next call. PLAN_LEASE_LOST when we no longer hold the lease or the
 * database fails, or a negative. */
AWAITS static int sync_extend_lease(struct sync *sync)
{
    struct rows extended;
    int rc = db_query(
        &sync->r->task,
        sync->r->scope->db,
        SQL_PLAN_SYNC_EXTEND(.id = sync->plan.id, .sync_until = sync->lease, .lease_ms = LEASE_MS),
        &extended);

    if (rc)
        return rc < 0 ? rc : PLAN_LEASE_LOST;
    if (!extended.count)
        return PLAN_LEASE_LOST;
    sync->lease = sql_plan_sync_lease_row(&extended, 0).lease;
    return 0;
}

AWAITS static int sync_release(struct sync *sync)
{
    return sql_exec(
        sync->r, NULL, SQL_PLAN_SYNC_RELEASE(.id = sync->plan.id, .sync_until = sync->lease));
}

/* --- calls --- */

AWAITS static int sync_request(
    struct sync *sync, const char *method, struct str path, const struct form *form, struct str key)
{
    const struct processor_request request = {
        .method = method,
        .path = path,
        .form = form_text(form),
        .key = key,
        .limit_ms = CALL_LIMIT_MS,
    };

    TRY(sync_extend_lease(sync));
    return processor_call(&sync->r->task, sync->settings, &request, &sync->reply);
}

/* Makes a POST that creates an object. Equal states give equal keys, so repeating a call whose
 * answer was lost returns that answer. */
AWAITS static int
sync_create_object(struct sync *sync, const char *what, struct str path, const struct form *form)
{
    struct arena *arena = sync->r->task.arena;
    struct str salt =
        arena_printf(arena, "%lld:%.*s", (long long)sync->plan.failures, STR_ARG(form_text(form)));
    struct str key = processor_key(arena, sync->r->scope->project, what, sync->plan.id, salt);

    return sync_request(sync, "POST", path, form, key);
}

struct str plan_random_key(struct req *r, const char *what, int64_t id)
{
    char *salt = arena_alloc(r->task.arena, 27);

    rand_ulid(salt);
    return processor_key(r->task.arena, r->scope->project, what, id, str_from(salt));
}

/* Makes a POST that sets a state, under a new key: the state may have changed since an equal call,
 * so the processor must not replay the answer to that call. */
AWAITS static int sync_update_object(struct sync *sync, struct str path, const struct form *form)
{
    return sync_request(sync, "POST", path, form, plan_random_key(sync->r, "plan", sync->plan.id));
}

static struct str product_id(struct sync *sync)
{
    const struct project *project = sync->r->scope->project;

    /* created_ms: a recreated database numbers its projects from the start again, but the
     * processor's account stays. */
    return arena_printf(sync->r->task.arena,
                        "gw_%lld_%llx_plan_%lld",
                        (long long)project->number,
                        (unsigned long long)project->created_ms,
                        (long long)sync->plan.id);
}

/* The processor accepts an empty description in an update, where it removes the description, but
 * not for a new product. */
static void product_form(struct sync *sync, struct form *form, bool is_new)
{
    const struct plan_state *plan = &sync->plan;

    form_init(form, sync->r->task.arena);
    form_str(form, "name", plan->name);
    if (plan->description.len > 0 || !is_new)
        form_str(form, "description", plan->description.len ? plan->description : STR(""));
    form_bool(form, "active", plan->active);
    form_map(form, "metadata", pay_metadata_new(sync->r, "plan_id", plan->id));
}

AWAITS static int update_product(struct sync *sync, struct str id)
{
    struct form form;

    product_form(sync, &form, false);
    return sync_update_object(
        sync, processor_path(sync->r->task.arena, "/v1/products", id, ""), &form);
}

AWAITS static int create_product(struct sync *sync)
{
    struct str id = product_id(sync);
    struct form form;
    int rc;

    product_form(sync, &form, true);
    form_str(&form, "id", id);
    rc = sync_create_object(sync, "product", STR("/v1/products"), &form);
    if (rc == PROCESSOR_INVALID && str_is(sync->reply.code, "resource_already_exists"))
        rc = update_product(sync, id);
    if (rc == 0)
        sync->plan.product = id;
    return rc;
}

/* Updates or creates the product. PROCESSOR_NOT_FOUND: the product was deleted at the processor, or
 * the key now belongs to another account, so we create product and price again. */
AWAITS static int sync_product(struct sync *sync)
{
    struct plan_state *plan = &sync->plan;
    int rc = PROCESSOR_NOT_FOUND;

    if (plan->product.len && str_eq(plan->sent_product_state, plan->product_state))
        return 0;
    if (plan->product.len)
        rc = update_product(sync, plan->product);
    if (rc == PROCESSOR_NOT_FOUND) {
        plan->price = plan->sent_price_state = STR_NONE;
        plan->retired_count = 0;
        rc = create_product(sync);
    }
    if (rc == 0)
        plan->sent_product_state = plan->product_state;
    return rc;
}

static struct str price_lookup(struct sync *sync)
{
    struct arena *arena = sync->r->task.arena;
    const struct plan_state *plan = &sync->plan;
    struct str hash = digest_sha256_hex(
        arena, arena_printf(arena, "%.*s|%.*s", STR_ARG(plan->price_state), STR_ARG(plan->price)));

    return arena_printf(arena, "%.*s_%.*s", STR_ARG(plan->product), STATE_DIGITS, hash.ptr);
}

/* Finds the price that an earlier attempt created under this lookup key. Returns PROCESSOR_INVALID
 * and restores the previous reply when there is none. */
AWAITS static int find_price(struct sync *sync, struct str lookup, struct str *ret_price)
{
    struct processor_reply said = sync->reply;
    struct form form;
    int rc;

    form_init(&form, sync->r->task.arena);
    form_str(&form, "lookup_keys[0]", lookup);
    form_i64(&form, "limit", 1);
    rc = sync_request(sync, "GET", STR("/v1/prices"), &form, STR_NONE);
    if (rc)
        return rc;
    *ret_price = jr_str(json_array_get(json_object_get(sync->reply.body, "data"), 0), "id");
    if (ret_price->len)
        return 0;
    sync->reply = said;
    return PROCESSOR_INVALID;
}

AWAITS static int create_price(struct sync *sync, struct str *ret_price)
{
    const struct plan_state *plan = &sync->plan;
    struct str lookup = price_lookup(sync);
    struct form form;
    int rc;

    form_init(&form, sync->r->task.arena);
    form_str(&form, "product", plan->product);
    form_str(&form, "currency", plan->currency);
    form_i64(&form, "unit_amount", plan->amount_minor);
    form_str(&form, "recurring[interval]", plan->interval);
    form_i64(&form, "recurring[interval_count]", plan->interval_count);
    form_str(&form, "lookup_key", lookup);
    form_map(&form, "metadata", pay_metadata_new(sync->r, "plan_id", plan->id));
    rc = sync_create_object(sync, "price", STR("/v1/prices"), &form);
    if (rc == PROCESSOR_INVALID)
        return find_price(sync, lookup, ret_price);
    if (rc)
        return rc;
    *ret_price = jr_str(sync->reply.body, "id");
    return ret_price->len ? 0 : PROCESSOR_OUTCOME_UNKNOWN;
}

/* Sends the product again before its price: it was deleted at the processor, or the key now belongs
 * to another account. */
AWAITS static int recreate_price(struct sync *sync, struct str *ret_price)
{
    sync->plan.sent_product_state = STR_NONE;
    int rc = sync_product(sync);
    return rc ? rc : create_price(sync, ret_price);
}

AWAITS static int sync_price(struct sync *sync)
{
    struct plan_state *plan = &sync->plan;
    struct str made;
    int rc;

    if (plan->price.len && str_eq(plan->sent_price_state, plan->price_state))
        return 0;
    rc = create_price(sync, &made);
    if (rc == PROCESSOR_INVALID && str_is(sync->reply.code, "resource_missing"))
        rc = recreate_price(sync, &made);
    if (rc)
        return rc;
    if (plan->price.len && plan->retired_count < RETIRED_MAX)
        plan->prices_to_retire[plan->retired_count++] = plan->price;
    plan->price = made;
    plan->sent_price_state = plan->price_state;
    return 0;
}

/* A price that does not exist at the processor counts as retired. */
AWAITS static int retire_price(struct sync *sync, struct str price)
{
    struct form form;
    int rc;

    form_init(&form, sync->r->task.arena);
    form_bool(&form, "active", false);
    rc = sync_update_object(
        sync, processor_path(sync->r->task.arena, "/v1/prices", price, ""), &form);
    return rc == PROCESSOR_NOT_FOUND ? 0 : rc;
}

/* --- the row --- */

/* Forgets the product and prices of another account. An account whose id is unknown (mode own)
 * counts as the same account. */
static void forget_other_account(struct plan_state *plan, struct str theirs, struct str ours)
{
    if (!theirs.len || !ours.len || str_eq(theirs, ours))
        return;
    plan->product = plan->price = plan->sent_product_state = plan->sent_price_state = STR_NONE;
    plan->retired_count = 0;
}

/* 404 when the plan does not exist. */
AWAITS static int read_state(struct sync *sync, int64_t id)
{
    struct plan_state *plan = &sync->plan;
    struct rows found;

    TRY(sql_one(sync->r, &found, SQL_PLAN_SYNC_READ(.id = id)));
    const struct sql_plan_sync_read_row row =
        sql_plan_sync_read_row(sync->r->task.arena, &found, 0);
    *plan = (struct plan_state){
        .id = id,
        .amount_minor = row.amount_minor,
        .interval_count = row.interval_count,
        .failures = row.failures,
        .name = row.name,
        .description = row.description,
        .currency = row.currency,
        .interval = row.billing_interval,
        .active = row.is_active,
        .product_state = row.product_state,
        .price_state = row.price_state,
        .product = row.product,
        .price = row.price,
        .sent_product_state = row.known_product,
        .sent_price_state = row.known_price,
    };
    plan->retired_count = row.retired.count < RETIRED_MAX ? row.retired.count : RETIRED_MAX;
    for (size_t i = 0; i < plan->retired_count; i++)
        plan->prices_to_retire[i] = row.retired.items[i];
    forget_other_account(plan, row.account, sync->settings->processor.account);
    return 0;
}

static bool is_plan_sent(const struct plan_state *plan)
{
    return plan->product.len && plan->price.len &&
           str_eq(plan->sent_product_state, plan->product_state) &&
           str_eq(plan->sent_price_state, plan->price_state);
}

static bool is_in_sync(const struct plan_state *plan)
{
    return is_plan_sent(plan) && !plan->retired_count;
}

/* Returns the sync_error that administrators read: the processor's message, or that it refused or
 * could not be reached. STR_NONE after a success. */
static struct str error_text(struct sync *sync, int rc)
{
    const struct processor_reply *reply = &sync->reply;

    if (rc == 0)
        return STR_NONE;
    if (rc == PROCESSOR_INVALID && reply->message.len)
        return arena_printf(sync->r->task.arena,
                            "%.*s%s%.*s",
                            STR_ARG(reply->code),
                            reply->code.len ? ": " : "",
                            STR_ARG(reply->message));
    return rc == PROCESSOR_REFUSED ? STR("the processor refused the credentials or the account")
                                   : STR("the processor could not be reached or did not answer");
}

/* co: Writes the processor's state into the row. `rc` is the result of the sync. */
AWAITS static int write_state(struct sync *sync, int rc)
{
    const struct plan_state *plan = &sync->plan;
    const struct str account = sync->settings->processor.account;

    return sql_exec(
        sync->r,
        NULL,
        SQL_PLAN_SYNC_WRITE(.id = plan->id,
                            .sync_until = sync->lease,
                            .processor_product_id = plan->product,
                            .processor_price_id = plan->price,
                            .processor_account = account.len ? account : STR(""),
                            .known_product = plan->sent_product_state,
                            .known_price = plan->sent_price_state,
                            .retired = sql_strs(plan->prices_to_retire, plan->retired_count),
                            .error = error_text(sync, rc),
                            .failures = plan->failures + (rc == PROCESSOR_UNAVAILABLE)));
}

/* Makes the listed prices inactive. *ret_changed: the list has become shorter. */
AWAITS static int retire_listed_prices(struct sync *sync, bool *ret_changed)
{
    struct plan_state *plan = &sync->plan;

    *ret_changed = false;
    while (plan->retired_count) {
        int rc = retire_price(sync, plan->prices_to_retire[plan->retired_count - 1]);
        if (rc)
            return rc;
        plan->retired_count--;
        *ret_changed = true;
    }
    return 0;
}

/* co: Sends the state that was read from the row. *ret_rc: 0, a PROCESSOR_* or PLAN_LEASE_LOST. */
AWAITS static int sync_send(struct sync *sync, int *ret_rc)
{
    bool changed;
    int rc = sync_product(sync);

    if (rc == 0)
        rc = sync_price(sync);
    if (rc < 0)
        return rc;
    /* Store the list of prices to retire before retiring them. */
    TRY(write_state(sync, rc));
    if (rc == 0) {
        rc = retire_listed_prices(sync, &changed);
        if (rc < 0)
            return rc;
        if (rc || changed)
            TRY(write_state(sync, rc));
    }
    *ret_rc = rc;
    return 0;
}

/* co: Sends the plan again while concurrent saves change it, at most ROUNDS_MAX times. Only logs a
 * failure of the processor. */
AWAITS static int sync_send_all(struct sync *sync, int64_t plan_id)
{
    int rc = 0;

    for (int i = 0; i < ROUNDS_MAX && rc == 0; i++) {
        TRY(read_state(sync, plan_id));
        if (is_in_sync(&sync->plan))
            break;
        TRY(sync_send(sync, &rc));
    }
    if (rc)
        log_warn("plan.not_synced",
                 L_I64("plan", plan_id),
                 L_RESULT("result", rc),
                 L_STR("code", sync->reply.code));
    return 0;
}

/* co: Waits for the lease. *ret_ours is false when the plan is in sync already, or when another
 * gateway holds the lease for longer than WAIT_MS. */
AWAITS static int sync_wait_lease(struct sync *sync, int64_t plan_id, bool *ret_ours)
{
    struct backoff pause = {.first_ms = POLL_MS, .most_ms = INT64_C(4) * POLL_MS};
    int64_t until_ms = clock_mono_ms() + WAIT_MS;

    *ret_ours = false;
    for (;;) {
        TRY(read_state(sync, plan_id));
        if (is_in_sync(&sync->plan))
            return 0;
        TRY(sync_claim(sync, plan_id, ret_ours));
        if (*ret_ours || clock_mono_ms() >= until_ms)
            return 0;
        TRY(task_sleep(&sync->r->task, backoff_next(&pause)));
    }
}

static struct sync *sync_new(struct req *r, const struct payment_settings *settings)
{
    struct sync *sync = ARENA_NEW(r->task.arena, sync);

    sync->r = r;
    sync->settings = settings;
    return sync;
}

int plan_sync(struct req *r, const struct payment_settings *settings, int64_t plan_id)
{
    struct sync *sync = sync_new(r, settings);
    bool ours;

    if (!payment_processor_ready(settings))
        return 0;
    TRY(sync_wait_lease(sync, plan_id, &ours));
    if (!ours)
        return 0;
    TRY(sync_send_all(sync, plan_id));
    return sync_release(sync);
}

/* co: Makes the product and all its known prices inactive. */
AWAITS static int retire_plan_objects(struct sync *sync)
{
    struct plan_state *plan = &sync->plan;
    bool changed;
    int rc;

    if (plan->price.len && plan->retired_count < RETIRED_MAX)
        plan->prices_to_retire[plan->retired_count++] = plan->price;
    /* If the plan is not deleted after all, its next save must send product and price again. */
    plan->sent_product_state = plan->sent_price_state = STR_NONE;
    TRY(write_state(sync, 0));
    rc = retire_listed_prices(sync, &changed);
    if (rc == 0) {
        plan->active = false;
        rc = update_product(sync, plan->product);
    }
    if (rc < 0)
        return rc;
    TRY(sync_release(sync));
    return rc == PROCESSOR_NOT_FOUND ? 0 : rc;
}

int plan_retire(struct req *r,
                const struct payment_settings *settings,
                int64_t plan_id,
                struct processor_reply *ret_reply)
{
    struct sync *sync = sync_new(r, settings);
    bool ours;

    *ret_reply = (struct processor_reply){0};
    TRY(read_state(sync, plan_id));
    if (!sync->plan.product.len || !payment_processor_ready(settings))
        return 0;
    TRY(sync_claim(sync, plan_id, &ours));
    if (!ours)
        return fail(
            r, PROBLEM_CONFLICT, "The plan is being sent to the processor; try again soon.");
    TRY(read_state(sync, plan_id));
    int rc = retire_plan_objects(sync);
    *ret_reply = sync->reply;
    return rc;
}

int plan_price(struct req *r,
               const struct payment_settings *settings,
               int64_t plan_id,
               struct str *ret_price,
               struct str *ret_product)
{
    struct sync *sync = sync_new(r, settings);
    struct plan_state *plan = &sync->plan;

    *ret_price = *ret_product = STR_NONE;
    TRY(read_state(sync, plan_id));
    if (!is_plan_sent(plan)) {
        TRY(plan_sync(r, settings, plan_id));
        TRY(read_state(sync, plan_id));
    }
    if (str_eq(plan->sent_product_state, plan->product_state))
        *ret_product = plan->product;
    if (is_plan_sent(plan))
        *ret_price = plan->price;
    return 0;
}
