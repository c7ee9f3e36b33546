/* Saved methods: how their rows are found, created, moved and written. */
#include "payments/apply_method_private.h"

#include "apply_sql.h"
#include "payments/announce_private.h"
#include "payments/apply_payment_private.h"

struct method_search {
    struct str provider_id, setup_id, customer;
    struct method_row method; /* row of provider_id */
    struct method_row failed; /* row of setup_id that has no method */
    struct str email;
    int64_t subscriber_id;
    bool is_new;
};

/* --- finding a row --- */

static struct db_call method_lock_call(struct arena *arena, const struct method_search *search)
{
    return db_call_new(arena,
                       SQL_APPLY_METHOD_LOCK(.provider_id = key_str(search->provider_id),
                                             .setup_id = key_str(search->setup_id)));
}

static void method_pick(struct method_search *search, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct method_row row;
        method_row_read(rows, i, &row);
        if (row.provider_id.len == 0)
            search->failed = row;
        else if (search->provider_id.len == 0 || str_eq(row.provider_id, search->provider_id))
            search->method = row;
        else /* another method's set-up */
            search->setup_id = STR_NONE;
    }
}

AWAITS static int
method_lookup(struct apply_source *source, struct db *tx, struct method_search *search)
{
    struct db_call calls[] = {
        method_lock_call(source->task->arena, search),
        db_call(SQL_APPLY_CUSTOMER(.provider_id = search->customer)),
    };

    TRY(db_batch(source->task, tx, calls, search->customer.len > 0 ? 2 : 1, NULL));
    method_pick(search, &calls[0].rows);
    if (search->customer.len > 0 && calls[1].rows.count > 0) {
        const struct sql_apply_customer_row from = sql_apply_customer_row(&calls[1].rows, 0);
        search->subscriber_id = from.subscriber_id.value;
        search->email = from.email;
    }
    return 0;
}

/* Takes the object's lock and searches again. Makes `made` a new row if there still is none. */
AWAITS static int method_lookup_locked(struct apply_source *source,
                                       struct db *tx,
                                       struct str object,
                                       struct method_search *search,
                                       struct method_row *made)
{
    struct db_call calls[] = {
        db_call(SQL_APPLY_LOCK(.key = apply_lock_key(object))),
        method_lock_call(source->task->arena, search),
        db_call(SQL_APPLY_METHOD_NEXT()),
    };

    TRY(db_batch(source->task, tx, calls, ARRAY_LEN(calls), NULL));
    method_pick(search, &calls[1].rows);
    if (search->method.id != 0 || (made == &search->failed && search->failed.id != 0))
        return 0;
    const struct sql_apply_next_row next = sql_apply_next_row(&calls[2].rows, 0);
    search->is_new = true;
    *made = (struct method_row){
        .id = next.id,
        .status = made == &search->failed ? "setup_failed" : "active",
        .type = STR("card"),
        .created_ms = next.now,
    };
    return 0;
}

/* --- writing a row --- */

static void method_put(struct apply_source *source, struct applied *applied, struct method_row *row)
{
    announce_method_row(source, applied, row);
    applied_add(source,
                applied,
                SQL_APPLY_METHOD_PUT(.id = row->id,
                                     .provider_id = row->provider_id,
                                     .setup_id = row->setup_id,
                                     .customer = row->customer,
                                     .subscriber_id = some_id(row->subscriber_id),
                                     .subscriber_email = row->subscriber_email,
                                     .type = row->type,
                                     .brand = row->brand,
                                     .last4 = row->last4,
                                     .exp_month = some_id(row->exp_month),
                                     .exp_year = some_id(row->exp_year),
                                     .status = str_from(row->status),
                                     .failure_code = row->failure_code,
                                     .failure_message = row->failure_message,
                                     .event_at = row->event_ms,
                                     .emitted = row->emitted));
}

static void
method_link_payer(struct method_row *row, const struct method_search *search, struct str email)
{
    (void)fill_str(&row->customer, search->customer);
    (void)fill_str(&row->subscriber_email, search->email);
    (void)fill_str(&row->subscriber_email, email);
    (void)fill_number(&row->subscriber_id, search->subscriber_id);
}

/* Only the newest report describes the method. */
static void
method_describe(struct method_row *row, const struct method_object *method, int64_t at_ms)
{
    if (row->event_ms > at_ms)
        return;
    row->event_ms = at_ms;
    if (method->type.len > 0)
        row->type = method->type;
    (void)fill_str(&row->brand, method->brand);
    (void)fill_str(&row->last4, method->last4);
    if (method->exp_month != 0)
        row->exp_month = method->exp_month;
    if (method->exp_year != 0)
        row->exp_year = method->exp_year;
}

int method_apply(struct apply_source *source,
                 struct db *tx,
                 const struct method_object *method,
                 bool attached,
                 struct str customer,
                 struct applied *applied)
{
    struct method_search search = {
        .provider_id = method->id,
        .customer = method->customer.len > 0 ? method->customer : customer,
    };
    struct method_row *row = &search.method;

    TRY(method_lookup(source, tx, &search));
    if (row->id == 0)
        TRY(method_lookup_locked(source, tx, method->id, &search, row));
    const char *before = search.is_new ? NULL : row->status;
    row->provider_id = method->id;
    method_link_payer(row, &search, method->email);
    method_describe(row, method, source->at_ms);
    if (!attached)
        row->status = "detached";
    (void)applied_set_row_effect(
        source, applied, "method", row->id, before, row->status, "status unchanged");
    method_put(source, applied, row);
    return 0;
}

int setup_apply_failed(struct apply_source *source,
                       struct db *tx,
                       const struct setup_object *setup,
                       struct applied *applied)
{
    struct method_search search = {.setup_id = setup->id, .customer = setup->customer};
    struct method_row *row = &search.failed;
    bool ours;
    bool other_project;

    (void)metadata_id(source, setup->metadata, "subscriber_id", &ours, &other_project);
    if (other_project)
        return APPLY_OTHER_PROJECT;
    TRY(method_lookup(source, tx, &search));
    if (row->id == 0 && search.method.id == 0)
        TRY(method_lookup_locked(source, tx, setup->id, &search, row));
    if (search.method.id != 0) {
        applied->object =
            arena_printf(source->task->arena, "method:%lld", (long long)search.method.id);
        applied_set_effect(source, applied, "nothing: the setup intent has succeeded since");
        return 0;
    }
    const char *before = search.is_new ? NULL : row->status;
    row->setup_id = setup->id;
    method_link_payer(row, &search, STR_NONE);
    if (source->at_ms > row->event_ms ||
        (source->at_ms == row->event_ms &&
         str_cmp(setup->failure_message, row->failure_message) > 0)) {
        row->event_ms = source->at_ms;
        row->failure_code = setup->failure_code;
        row->failure_message = setup->failure_message;
        row->emitted = 0; /* each failure emits its own event */
    }
    (void)applied_set_row_effect(
        source, applied, "method", row->id, before, row->status, "status unchanged");
    method_put(source, applied, row);
    return 0;
}

int setup_apply_succeeded(struct apply_source *source,
                          struct db *tx,
                          const struct setup_object *setup,
                          struct applied *applied)
{
    struct method_search search = {
        .provider_id = setup->payment_method,
        .setup_id = setup->id,
        .customer = setup->customer,
    };
    struct method_row *row = &search.method;
    struct method_object method;
    bool ours;
    bool other_project;

    (void)metadata_id(source, setup->metadata, "subscriber_id", &ours, &other_project);
    if (other_project)
        return APPLY_OTHER_PROJECT;
    if (setup->payment_method.len == 0 || setup->customer.len == 0) {
        applied_set_effect(
            source, applied, "nothing: the setup intent has no customer or no payment method");
        return 0;
    }
    TRY(method_lookup(source, tx, &search));
    if (row->id == 0)
        TRY(method_lookup_locked(source, tx, setup->payment_method, &search, row));
    const char *before = search.is_new ? NULL : row->status;
    row->provider_id = setup->payment_method;
    (void)fill_str(&row->setup_id, search.setup_id);
    method_link_payer(row, &search, STR_NONE);
    if (method_read(setup->method_object, &method) == 0)
        method_describe(row, &method, source->at_ms);
    (void)applied_set_row_effect(
        source, applied, "method", row->id, before, row->status, "status unchanged");
    if (search.failed.id != 0) /* before method_put(), because setup_id is unique */
        applied_add(source, applied, SQL_APPLY_METHOD_DELETE(.id = search.failed.id));
    method_put(source, applied, row);
    return 0;
}
