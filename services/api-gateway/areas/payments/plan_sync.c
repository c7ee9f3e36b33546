/*
 * A plan at the processor. A product is made under an id of ours: made twice, it is the same. A
 * price cannot be changed: each state of a plan has one, told apart by a lookup key made of the
 * state and of the price before it, so that a price whose answer was lost is found again. The price
 * that was replaced stays noted until it is inactive.
 */
#include <string.h>

#include "areas/payments/payments_area.h"
#include "areas/payments/plans.h"
#include "base/rand.h"
#include "crypto/digest.h"
#include "plan_sync_sql.h"

#define ROUNDS_MAX   3  /* how often another save may come between */
#define RETIRED_MAX  20 /* prices noted; older ones stay as they are, nothing uses them */
#define STATE_DIGITS 24 /* of a lookup key's hash */

struct plan_state {
    int64_t id, amount_minor, interval_count;
    int64_t failures; /* answers of the processor that it repeats for their key: the next try has
                         another one */
    struct str name, description, currency, interval;
    bool active;
    struct str product_state, price_state; /* as the row says it */
    struct str row_price;                  /* as read: the guard of the write */
    /* What the processor knows; moves along as it is told. */
    struct str product, price, known_product, known_price;
    struct str retired[RETIRED_MAX];
    size_t retired_count;
};

struct sync {
    struct req *r;
    const struct payment_settings *settings;
    struct plan_state plan;
    struct processor_reply reply;
    struct str extra[ROUNDS_MAX]; /* prices made for a state that another save replaced */
    size_t extra_count;
};

/* --- calls --- */

AWAITS static int
call(struct sync *sync, const char *what, struct str path, const struct form *form)
{
    struct arena *arena = sync->r->task.arena;
    const struct processor_request request = {
        .method = "POST",
        .path = path,
        .form = form_text(form),
        .key = processor_key(arena,
                             sync->r->project,
                             what,
                             sync->plan.id,
                             arena_printf(arena,
                                          "%lld:%.*s?%.*s",
                                          (long long)sync->plan.failures,
                                          STR_ARG(path),
                                          STR_ARG(form_text(form)))),
    };

    return processor_call(&sync->r->task, sync->settings, &request, &sync->reply);
}

struct str plan_fresh_key(struct req *r, const char *what, int64_t id)
{
    char *salt = arena_alloc(r->task.arena, 27);

    rand_ulid(salt);
    return processor_key(r->task.arena, r->project, what, id, str_from(salt));
}

/* Like the first, but repeated as often as it is needed: what it sets may have been set back since.
 */
AWAITS static int call_again(struct sync *sync, struct str path, const struct form *form)
{
    const struct processor_request request = {
        .method = "POST",
        .path = path,
        .form = form_text(form),
        .key = plan_fresh_key(sync->r, "plan", sync->plan.id),
    };

    return processor_call(&sync->r->task, sync->settings, &request, &sync->reply);
}

static struct str product_id(struct sync *sync)
{
    const struct project *project = sync->r->project;

    /* Numbers begin again in a database that is made anew, the account stays. */
    return arena_printf(sync->r->task.arena,
                        "gw_%lld_%llx_plan_%lld",
                        (long long)project->number,
                        (unsigned long long)project->created_ms,
                        (long long)sync->plan.id);
}

static void product_form(struct sync *sync, struct form *form)
{
    const struct plan_state *plan = &sync->plan;

    form_init(form, sync->r->task.arena);
    form_str(form, "name", plan->name);
    form_str(form, "description", plan->description.len ? plan->description : STR(""));
    form_bool(form, "active", plan->active);
    form_map(form, "metadata", pay_metadata(sync->r, "plan_id", plan->id));
}

AWAITS static int update_product(struct sync *sync, struct str id)
{
    struct form form;

    product_form(sync, &form);
    return call_again(sync, processor_path(sync->r->task.arena, "/v1/products", id, ""), &form);
}

AWAITS static int create_product(struct sync *sync)
{
    const struct plan_state *plan = &sync->plan;
    struct str id = product_id(sync);
    struct form form;
    int rc;

    form_init(&form, sync->r->task.arena);
    form_str(&form, "id", id);
    form_str(&form, "name", plan->name);
    if (plan->description.len)
        form_str(&form, "description", plan->description);
    form_bool(&form, "active", plan->active);
    form_map(&form, "metadata", pay_metadata(sync->r, "plan_id", plan->id));
    rc = call(sync, "product", STR("/v1/products"), &form);
    if (rc == PROCESSOR_INVALID && str_is(sync->reply.code, "resource_already_exists"))
        rc = update_product(sync, id);
    if (rc == 0)
        sync->plan.product = id;
    return rc;
}

/* Not there: it was removed at the processor, or the key is another account's by now. */
AWAITS static int sync_product(struct sync *sync)
{
    struct plan_state *plan = &sync->plan;
    int rc = PROCESSOR_NOT_FOUND;

    if (plan->product.len && str_eq(plan->known_product, plan->product_state))
        return 0;
    if (plan->product.len)
        rc = update_product(sync, plan->product);
    if (rc == PROCESSOR_NOT_FOUND) {
        plan->price = plan->known_price = STR_NONE;
        plan->retired_count = 0;
        rc = create_product(sync);
    }
    if (rc == 0)
        plan->known_product = plan->product_state;
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

/* The price that has this lookup key: an earlier try made it. PROCESSOR_INVALID stays when there is
 * none. */
AWAITS static int find_price(struct sync *sync, struct str lookup, struct str *ret_price)
{
    struct processor_reply said = sync->reply;
    struct form form;
    int rc;

    form_init(&form, sync->r->task.arena);
    form_str(&form, "lookup_keys[0]", lookup);
    form_i64(&form, "limit", 1);
    const struct processor_request request = {
        .method = "GET", .path = STR("/v1/prices"), .form = form_text(&form)};
    rc = processor_call(&sync->r->task, sync->settings, &request, &sync->reply);
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
    form_map(&form, "metadata", pay_metadata(sync->r, "plan_id", plan->id));
    rc = call(sync, "price", STR("/v1/prices"), &form);
    if (rc == PROCESSOR_INVALID)
        return find_price(sync, lookup, ret_price);
    if (rc)
        return rc;
    *ret_price = jr_str(sync->reply.body, "id");
    return ret_price->len ? 0 : PROCESSOR_UNKNOWN;
}

AWAITS static int sync_price(struct sync *sync)
{
    struct plan_state *plan = &sync->plan;
    struct str made;
    int rc;

    if (plan->price.len && str_eq(plan->known_price, plan->price_state))
        return 0;
    rc = create_price(sync, &made);
    if (rc)
        return rc;
    if (plan->price.len && plan->retired_count < RETIRED_MAX)
        plan->retired[plan->retired_count++] = plan->price;
    plan->price = made;
    plan->known_price = plan->price_state;
    return 0;
}

/* The first of those that are still active; none left is 0. What is not there needs nothing. */
AWAITS static int retire_price(struct sync *sync, struct str price)
{
    struct form form;
    int rc;

    form_init(&form, sync->r->task.arena);
    form_bool(&form, "active", false);
    rc = call_again(sync, processor_path(sync->r->task.arena, "/v1/prices", price, ""), &form);
    return rc == PROCESSOR_NOT_FOUND ? 0 : rc;
}

/* --- the row --- */

static size_t read_retired(struct arena *arena, const struct rows *found, struct str *ret_prices)
{
    struct str *prices;
    size_t count = rows_strs(arena, found, 0, rows_column(found, "retired"), &prices);

    if (count > RETIRED_MAX)
        count = RETIRED_MAX;
    for (size_t i = 0; i < count; i++)
        ret_prices[i] = prices[i];
    return count;
}

/* Another account's product and price are none here. An account that is not known (a key of its
 * own) is no other. */
static void leave_account(struct plan_state *plan, struct str theirs, struct str ours)
{
    if (!theirs.len || !ours.len || str_eq(theirs, ours))
        return;
    plan->product = plan->price = plan->known_product = plan->known_price = STR_NONE;
    plan->retired_count = 0;
}

/* 404 when the plan is gone. */
AWAITS static int read_state(struct sync *sync, int64_t id)
{
    struct plan_state *plan = &sync->plan;
    struct rows found;

    TRY(sql_one(sync->r, &found, &SQL_PLAN_SYNC_READ, PARAMS(P_I64(id))));
    const struct row row = rows_at(&found, 0);
    *plan = (struct plan_state){
        .id = id,
        .amount_minor = row_i64(&row, "amount_minor"),
        .interval_count = row_i64(&row, "interval_count"),
        .failures = row_i64(&row, "failures"),
        .name = row_str(&row, "name"),
        .description = row_str(&row, "description"),
        .currency = row_str(&row, "currency"),
        .interval = row_str(&row, "billing_interval"),
        .active = row_bool(&row, "is_active"),
        .product_state = row_str(&row, "product_state"),
        .price_state = row_str(&row, "price_state"),
        .row_price = row_str(&row, "price"),
        .product = row_str(&row, "product"),
        .price = row_str(&row, "price"),
        .known_product = row_str(&row, "known_product"),
        .known_price = row_str(&row, "known_price"),
    };
    plan->retired_count = read_retired(sync->r->task.arena, &found, plan->retired);
    leave_account(plan, row_str(&row, "account"), sync->settings->processor.account);
    return 0;
}

static bool in_step(const struct plan_state *plan)
{
    return plan->product.len && plan->price.len && !plan->retired_count &&
           str_eq(plan->known_product, plan->product_state) &&
           str_eq(plan->known_price, plan->price_state);
}

/* What stands in the row for people: the processor's own words, or that it was away. */
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

AWAITS static int write_state(struct sync *sync, int rc, bool *ret_written)
{
    const struct plan_state *plan = &sync->plan;
    const struct str account = sync->settings->processor.account;
    int64_t written = 0;

    TRY(sql_exec(sync->r,
                 &written,
                 &SQL_PLAN_SYNC_WRITE,
                 PARAMS(P_I64(plan->id),
                        P_STR(plan->product_state),
                        P_STR(plan->price_state),
                        P_STR(plan->row_price),
                        P_STR(plan->product),
                        P_STR(plan->price),
                        P_STR(account.len ? account : STR("")),
                        P_STR(plan->known_product),
                        P_STR(plan->known_price),
                        P_STRS(plan->retired, plan->retired_count),
                        P_STR(error_text(sync, rc)),
                        P_I64(plan->failures + (rc == PROCESSOR_UNAVAILABLE)))));
    *ret_written = written > 0;
    return 0;
}

/* Makes inactive what is noted; *ret_changed when the note is shorter now. */
AWAITS static int retire_noted(struct sync *sync, bool *ret_changed)
{
    struct plan_state *plan = &sync->plan;

    while (plan->retired_count) {
        int rc = retire_price(sync, plan->retired[plan->retired_count - 1]);
        if (rc)
            return rc;
        plan->retired_count--;
        *ret_changed = true;
    }
    return 0;
}

/* A price that was made for nothing, because the plan was saved again meanwhile. */
static void note_extra(struct sync *sync)
{
    if (sync->plan.price.len && !str_eq(sync->plan.price, sync->plan.row_price))
        sync->extra[sync->extra_count++] = sync->plan.price;
}

static void take_extra(struct sync *sync)
{
    struct plan_state *plan = &sync->plan;

    for (size_t i = 0; i < sync->extra_count; i++) {
        if (!str_eq(sync->extra[i], plan->price) && plan->retired_count < RETIRED_MAX)
            plan->retired[plan->retired_count++] = sync->extra[i];
    }
    sync->extra_count = 0;
}

/* *ret_done is false when the plan changed meanwhile. Negative, or an answered status. */
AWAITS static int sync_round(struct sync *sync, bool *ret_done)
{
    bool changed = false;
    int rc;

    take_extra(sync);
    rc = sync_product(sync);
    if (rc == 0)
        rc = sync_price(sync);
    if (rc < 0)
        return rc;
    TRY(write_state(sync, rc, ret_done));
    if (!*ret_done) {
        note_extra(sync);
        return 0;
    }
    sync->plan.row_price = sync->plan.price;
    if (rc == 0)
        rc = retire_noted(sync, &changed);
    if (rc < 0)
        return rc;
    if (changed)
        TRY(write_state(sync, rc, &changed));
    if (rc)
        log_warn("plan.not_synced",
                 L_I64("plan", sync->plan.id),
                 L_I64("result", rc),
                 L_STR("code", sync->reply.code));
    return 0;
}

int plan_sync(struct req *r, const struct payment_settings *settings, int64_t plan_id)
{
    struct sync *sync = ARENA_NEW(r->task.arena, sync);
    bool done = false;

    if (!payment_processor_ready(settings))
        return 0;
    sync->r = r;
    sync->settings = settings;
    for (int i = 0; i < ROUNDS_MAX && !done; i++) {
        TRY(read_state(sync, plan_id));
        if (in_step(&sync->plan) && !sync->extra_count)
            return 0;
        TRY(sync_round(sync, &done));
    }
    return 0;
}

int plan_retire(struct req *r,
                const struct payment_settings *settings,
                int64_t plan_id,
                struct processor_reply *ret_reply)
{
    struct sync *sync = ARENA_NEW(r->task.arena, sync);
    struct plan_state *plan = &sync->plan;
    bool changed = false;
    int rc = 0;

    sync->r = r;
    sync->settings = settings;
    *ret_reply = (struct processor_reply){0};
    TRY(read_state(sync, plan_id));
    if (!plan->product.len || !payment_processor_ready(settings))
        return 0;
    TRY(sql_exec(r, NULL, &SQL_PLAN_SYNC_FORGET, PARAMS(P_I64(plan_id))));
    if (plan->price.len && plan->retired_count < RETIRED_MAX)
        plan->retired[plan->retired_count++] = plan->price;
    rc = retire_noted(sync, &changed);
    if (rc == 0) {
        plan->active = false;
        rc = update_product(sync, plan->product);
    }
    *ret_reply = sync->reply;
    return rc == PROCESSOR_NOT_FOUND ? 0 : rc;
}

int plan_price(struct req *r,
               const struct payment_settings *settings,
               int64_t plan_id,
               struct str *ret_price,
               struct str *ret_product)
{
    struct sync *sync = ARENA_NEW(r->task.arena, sync);
    struct plan_state *plan = &sync->plan;

    sync->r = r;
    sync->settings = settings;
    *ret_price = *ret_product = STR_NONE;
    TRY(read_state(sync, plan_id));
    if (!in_step(plan)) {
        TRY(plan_sync(r, settings, plan_id));
        TRY(read_state(sync, plan_id));
    }
    if (str_eq(plan->known_product, plan->product_state))
        *ret_product = plan->product;
    if (ret_product->len && str_eq(plan->known_price, plan->price_state))
        *ret_price = plan->price;
    return 0;
}
