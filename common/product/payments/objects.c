/* Reads the members that we need of the processor's objects, in any generation of its API. */
#include "payments/objects.h"

#include "json/jr.h"
#include "payments/apply_payment_private.h"

#define SECONDS_MAX  253402300799LL     /* the last second of the year 9999 */
#define AMOUNT_MAX   1000000000000000LL /* above any real sum, far from overflow */
#define COUNT_MAX    100000
#define QUANTITY_MAX 1000000000

/* --- members --- */

static struct str object_text_of(const json_t *value)
{
    return json_is_string(value) && json_string_length(value) > 0
               ? (struct str){json_string_value(value), json_string_length(value)}
               : STR_NONE;
}

static struct str text_in(const json_t *object, const char *member)
{
    return object_text_of(json_object_get(object, member));
}

static const json_t *object_in(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);

    return json_is_object(value) ? value : NULL;
}

static struct str ref_of(const json_t *value)
{
    return json_is_object(value) ? text_in(value, "id") : object_text_of(value);
}

struct str object_ref(const json_t *object, const char *member)
{
    return ref_of(json_object_get(object, member));
}

/* Reads a number from 0 to `max`. Returns false without one, so that 0 differs from absent. */
static bool object_number_read(const json_t *object, const char *member, int64_t max, int64_t *ret)
{
    const json_t *value = json_object_get(object, member);
    int64_t number = -1;

    if (json_is_integer(value))
        number = json_integer_value(value);
    else if (json_is_real(value) && json_real_value(value) >= 0 &&
             json_real_value(value) <= (double)max)
        number = (int64_t)json_real_value(value);
    if (number < 0 || number > max)
        return false;
    *ret = number;
    return true;
}

static int64_t number_in(const json_t *object, const char *member, int64_t max)
{
    int64_t number = 0;

    (void)object_number_read(object, member, max, &number);
    return number;
}

static int64_t amount_in(const json_t *object, const char *member)
{
    return number_in(object, member, AMOUNT_MAX);
}

int64_t object_time_ms(const json_t *object, const char *member)
{
    return number_in(object, member, SECONDS_MAX) * 1000;
}

static struct str str_first(struct str one, struct str other)
{
    return one.len > 0 ? one : other;
}

static int64_t number_first(int64_t one, int64_t other)
{
    return one != 0 ? one : other;
}

/* Returns the n-th item of a list object {"data": [...]}; NULL after its end. */
static const json_t *list_item(const json_t *object, const char *member, size_t n)
{
    const json_t *item = json_array_get(json_object_get(object_in(object, member), "data"), n);

    return json_is_object(item) ? item : NULL;
}

/* Returns whether this is an object with an id that does not name another kind. */
static bool object_is_kind(const json_t *json, const char *kind, struct str *ret_id)
{
    struct str object = text_in(json, "object");

    if (!json_is_object(json) || (object.len > 0 && !str_is(object, kind)))
        return false;
    *ret_id = text_in(json, "id");
    return ret_id->len > 0;
}

/* --- payments --- */

static void object_read_error(const json_t *error, struct str *ret_code, struct str *ret_message)
{
    *ret_code = str_first(text_in(error, "code"), text_in(error, "type"));
    *ret_message = text_in(error, "message");
}

int intent_read(const json_t *json, struct intent_object *ret)
{
    struct intent_object intent = {0};

    if (!object_is_kind(json, "payment_intent", &intent.id))
        return OBJECT_MALFORMED;
    const json_t *error = object_in(json, "last_payment_error");
    const json_t *charge = object_in(json, "latest_charge");
    if (charge == NULL)
        charge = list_item(json, "charges", 0);
    intent.status = text_in(json, "status");
    intent.currency = text_in(json, "currency");
    intent.customer = object_ref(json, "customer");
    intent.payment_method =
        str_first(object_ref(json, "payment_method"), object_ref(error, "payment_method"));
    intent.latest_charge = str_first(object_ref(json, "latest_charge"), text_in(charge, "id"));
    intent.description = text_in(json, "description");
    intent.client_secret = text_in(json, "client_secret");
    intent.receipt_email = text_in(json, "receipt_email");
    intent.amount_minor = amount_in(json, "amount");
    intent.amount_received_minor = amount_in(json, "amount_received");
    intent.application_fee_minor = amount_in(json, "application_fee_amount");
    intent.created_ms = object_time_ms(json, "created");
    intent.amount_refunded_minor = amount_in(charge, "amount_refunded");
    intent.has_charge = charge != NULL && json_object_get(charge, "amount_refunded") != NULL;
    intent.disputed = jr_bool(charge, "disputed", false);
    object_read_error(error, &intent.failure_code, &intent.failure_message);
    intent.decline_code = text_in(error, "decline_code");
    intent.failed_charge = object_ref(error, "charge");
    intent.next_action = object_in(json, "next_action");
    intent.next_action_type = text_in(intent.next_action, "type");
    intent.invoice = object_ref(json, "invoice");
    intent.metadata = object_in(json, "metadata");
    *ret = intent;
    return 0;
}

int refund_read(const json_t *json, struct refund_object *ret)
{
    struct refund_object refund = {0};

    if (!object_is_kind(json, "refund", &refund.id))
        return OBJECT_MALFORMED;
    refund.payment_intent = object_ref(json, "payment_intent");
    refund.status = text_in(json, "status");
    refund.amount_minor = amount_in(json, "amount");
    refund.created_ms = object_time_ms(json, "created");
    *ret = refund;
    return 0;
}

int charge_read(const json_t *json, struct charge_object *ret)
{
    struct charge_object charge = {0};

    if (!object_is_kind(json, "charge", &charge.id))
        return OBJECT_MALFORMED;
    charge.payment_intent = object_ref(json, "payment_intent");
    charge.customer = object_ref(json, "customer");
    charge.currency = text_in(json, "currency");
    charge.amount_minor = amount_in(json, "amount");
    charge.amount_captured_minor = amount_in(json, "amount_captured");
    charge.amount_refunded_minor = amount_in(json, "amount_refunded");
    charge.refunded = jr_bool(json, "refunded", false);
    charge.disputed = jr_bool(json, "disputed", false);
    charge.metadata = object_in(json, "metadata");
    *ret = charge;
    return 0;
}

int dispute_read(const json_t *json, struct dispute_object *ret)
{
    struct dispute_object dispute = {0};

    if (!object_is_kind(json, "dispute", &dispute.id))
        return OBJECT_MALFORMED;
    dispute.charge = object_ref(json, "charge");
    dispute.payment_intent = str_first(object_ref(json, "payment_intent"),
                                       object_ref(object_in(json, "charge"), "payment_intent"));
    dispute.status = text_in(json, "status");
    dispute.currency = text_in(json, "currency");
    *ret = dispute;
    return 0;
}

int session_read(const json_t *json, struct session_object *ret)
{
    struct session_object session = {0};

    if (!object_is_kind(json, "checkout.session", &session.id))
        return OBJECT_MALFORMED;
    session.mode = text_in(json, "mode");
    session.status = text_in(json, "status");
    session.payment_status = text_in(json, "payment_status");
    session.client_reference_id = text_in(json, "client_reference_id");
    session.payment_intent = object_ref(json, "payment_intent");
    session.subscription = object_ref(json, "subscription");
    session.setup_intent = object_ref(json, "setup_intent");
    session.customer = object_ref(json, "customer");
    session.customer_email = str_first(text_in(object_in(json, "customer_details"), "email"),
                                       text_in(json, "customer_email"));
    session.currency = text_in(json, "currency");
    session.url = text_in(json, "url");
    session.amount_total_minor = amount_in(json, "amount_total");
    session.expires_ms = object_time_ms(json, "expires_at");
    session.metadata = object_in(json, "metadata");
    *ret = session;
    return 0;
}

/* --- subscriptions --- */

/* Since the API generation basil each item has a period of its own: from the first start to the
 * last end. */
static void period_read(const json_t *json, struct subscription_object *subscription)
{
    const json_t *item;

    for (size_t i = 0; (item = list_item(json, "items", i)) != NULL; i++) {
        int64_t start = object_time_ms(item, "current_period_start");
        int64_t end = object_time_ms(item, "current_period_end");
        if (start != 0 &&
            (subscription->period_start_ms == 0 || start < subscription->period_start_ms))
            subscription->period_start_ms = start;
        if (end > subscription->period_end_ms)
            subscription->period_end_ms = end;
    }
    if (subscription->period_start_ms == 0)
        subscription->period_start_ms = object_time_ms(json, "current_period_start");
    if (subscription->period_end_ms == 0)
        subscription->period_end_ms = object_time_ms(json, "current_period_end");
}

/* An item of a subscription: its price, or the "plan" of generations without prices. */
struct billed_item {
    struct str price, product, currency, interval;
    int64_t interval_count, unit_amount_minor, units;
    bool priced; /* a unit has an amount that is known before its use */
};

/* Returns how many units an item is billed for: its quantity, or the packages that the quantity
 * fills. */
static int64_t item_units(const json_t *item, const json_t *price)
{
    const json_t *packages = object_in(price, "transform_quantity");
    int64_t size = number_in(packages, "divide_by", QUANTITY_MAX);
    int64_t units = 1;

    (void)object_number_read(item, "quantity", QUANTITY_MAX, &units);
    if (size == 0)
        return units;
    return units / size + (units % size > 0 && str_is(text_in(packages, "round"), "up"));
}

static struct billed_item item_read(const json_t *json, const json_t *plan)
{
    const json_t *price = object_in(json, "price");
    const json_t *recurring = object_in(price, "recurring");
    struct billed_item item = {.units = item_units(json, price)};

    if (object_in(json, "plan") != NULL)
        plan = object_in(json, "plan");
    item.price = str_first(object_ref(json, "price"), text_in(plan, "id"));
    item.product = str_first(object_ref(price, "product"), object_ref(plan, "product"));
    item.currency = str_first(text_in(price, "currency"), text_in(plan, "currency"));
    item.interval = str_first(text_in(recurring, "interval"), text_in(plan, "interval"));
    item.interval_count = number_first(number_in(recurring, "interval_count", COUNT_MAX),
                                       number_in(plan, "interval_count", COUNT_MAX));
    item.priced = !str_is(text_in(recurring, "usage_type"), "metered") &&
                  (object_number_read(price, "unit_amount", AMOUNT_MAX, &item.unit_amount_minor) ||
                   object_number_read(plan, "amount", AMOUNT_MAX, &item.unit_amount_minor));
    return item;
}

/* Adds an item that is billed together with the first one. A sum above AMOUNT_MAX stays there, and
 * has_amount is false. */
static void item_add(const struct billed_item *item, struct subscription_object *subscription)
{
    int64_t amount;

    if (!item->priced || !str_eq(item->interval, subscription->interval) ||
        item->interval_count != subscription->interval_count)
        return;
    if (__builtin_mul_overflow(item->unit_amount_minor, item->units, &amount) ||
        amount > AMOUNT_MAX - subscription->amount_minor)
        amount = AMOUNT_MAX + 1 - subscription->amount_minor;
    subscription->amount_minor += amount;
    subscription->has_amount = subscription->amount_minor <= AMOUNT_MAX;
}

/* The first item determines the plan, all items together the price of a period. */
static void price_read(const json_t *json, struct subscription_object *subscription)
{
    const json_t *plan = object_in(json, "plan");
    const json_t *next = list_item(json, "items", 0);
    struct billed_item item = item_read(next, plan);

    subscription->price = item.price;
    subscription->product = item.product;
    subscription->currency = str_first(item.currency, text_in(json, "currency"));
    subscription->interval = item.interval;
    subscription->interval_count = item.interval_count;
    item_add(&item, subscription);
    for (size_t i = 1; (next = list_item(json, "items", i)) != NULL; i++) {
        item = item_read(next, NULL);
        item_add(&item, subscription);
    }
    if (!subscription->has_amount)
        subscription->amount_minor = 0;
}

int subscription_read(const json_t *json, struct subscription_object *ret)
{
    struct subscription_object subscription = {0};

    if (!object_is_kind(json, "subscription", &subscription.id))
        return OBJECT_MALFORMED;
    subscription.status = text_in(json, "status");
    subscription.customer = object_ref(json, "customer");
    subscription.created_ms = object_time_ms(json, "created");
    subscription.trial_start_ms = object_time_ms(json, "trial_start");
    subscription.trial_end_ms = object_time_ms(json, "trial_end");
    subscription.canceled_ms = object_time_ms(json, "canceled_at");
    subscription.ended_ms = object_time_ms(json, "ended_at");
    subscription.metadata = object_in(json, "metadata");
    subscription.latest_invoice = object_ref(json, "latest_invoice");
    period_read(json, &subscription);
    price_read(json, &subscription);
    /* A subscription ends with its period by a flag, or by a time that is not after the period's
     * end. */
    int64_t cancel_ms = object_time_ms(json, "cancel_at");
    subscription.cancel_at_period_end = jr_bool(json, "cancel_at_period_end", false) ||
                                        (cancel_ms != 0 && subscription.period_end_ms != 0 &&
                                         cancel_ms <= subscription.period_end_ms);
    *ret = subscription;
    return 0;
}

/* --- invoices --- */

/* Reads intent and charge of an invoice payment: in "payment", in API previews at the top. */
static void paid_by_read(const json_t *payment, struct str *ret_intent, struct str *ret_charge)
{
    const json_t *inner = object_in(payment, "payment");

    *ret_intent =
        str_first(object_ref(inner, "payment_intent"), object_ref(payment, "payment_intent"));
    *ret_charge = str_first(object_ref(inner, "charge"), object_ref(payment, "charge"));
}

/* Returns the payment of an invoice whose payments are expanded: the first that is paid, else the
 * first. */
static const json_t *paid_item(const json_t *invoice)
{
    const json_t *item;

    for (size_t i = 0; (item = list_item(invoice, "payments", i)) != NULL; i++)
        if (str_is(text_in(item, "status"), "paid"))
            return item;
    return list_item(invoice, "payments", 0);
}

static struct str line_subscription(const json_t *invoice)
{
    const json_t *line = list_item(invoice, "lines", 0);
    const json_t *parent = object_in(line, "parent");

    return str_first(object_ref(object_in(parent, "subscription_item_details"), "subscription"),
                     object_ref(line, "subscription"));
}

int invoice_read(const json_t *json, struct invoice_object *ret)
{
    struct invoice_object invoice = {0};

    if (!object_is_kind(json, "invoice", &invoice.id))
        return OBJECT_MALFORMED;
    const json_t *details = object_in(object_in(json, "parent"), "subscription_details");
    const json_t *payment = paid_item(json);
    if (details == NULL)
        details = object_in(json, "subscription_details");
    invoice.subscription =
        str_first(str_first(object_ref(details, "subscription"), object_ref(json, "subscription")),
                  line_subscription(json));
    invoice.metadata = object_in(details, "metadata");
    invoice.customer = object_ref(json, "customer");
    invoice.customer_email = text_in(json, "customer_email");
    invoice.currency = text_in(json, "currency");
    invoice.billing_reason = text_in(json, "billing_reason");
    invoice.number = text_in(json, "number");
    invoice.amount_paid_minor = amount_in(json, "amount_paid");
    invoice.amount_due_minor = amount_in(json, "amount_due");
    invoice.created_ms = object_time_ms(json, "created");
    invoice.attempted = jr_bool(json, "attempted", false);
    invoice.paid = str_is(text_in(json, "status"), "paid") || jr_bool(json, "paid", false);
    if (payment != NULL) {
        invoice.invoice_payment = text_in(payment, "id");
        paid_by_read(payment, &invoice.payment_intent, &invoice.charge);
        invoice.intent_object = object_in(object_in(payment, "payment"), "payment_intent");
    }
    if (invoice.intent_object == NULL)
        invoice.intent_object = object_in(json, "payment_intent");
    invoice.payment_intent = str_first(invoice.payment_intent, object_ref(json, "payment_intent"));
    invoice.charge = str_first(invoice.charge, object_ref(json, "charge"));
    *ret = invoice;
    return 0;
}

int invoice_payment_read(const json_t *json, struct invoice_payment_object *ret)
{
    struct invoice_payment_object payment = {0};

    if (!object_is_kind(json, "invoice_payment", &payment.id))
        return OBJECT_MALFORMED;
    payment.invoice = object_ref(json, "invoice");
    payment.invoice_object = object_in(json, "invoice");
    payment.status = text_in(json, "status");
    payment.currency = text_in(json, "currency");
    payment.amount_paid_minor = amount_in(json, "amount_paid");
    payment.created_ms = object_time_ms(json, "created");
    payment.paid_ms = object_time_ms(object_in(json, "status_transitions"), "paid_at");
    paid_by_read(json, &payment.payment_intent, &payment.charge);
    *ret = payment;
    return 0;
}

/* --- methods --- */

int method_read(const json_t *json, struct method_object *ret)
{
    struct method_object method = {0};

    if (!object_is_kind(json, "payment_method", &method.id))
        return OBJECT_MALFORMED;
    method.type = text_in(json, "type");
    /* The details are in a member with the name of the type. */
    const json_t *details = method.type.len > 0 ? object_in(json, method.type.ptr) : NULL;
    if (details == NULL)
        details = object_in(json, "card");
    method.customer = object_ref(json, "customer");
    method.brand =
        str_first(str_first(text_in(details, "brand"), text_in(details, "display_brand")),
                  text_in(details, "bank_name"));
    method.last4 = text_in(details, "last4");
    method.exp_month = number_in(details, "exp_month", 12);
    method.exp_year = number_in(details, "exp_year", 9999);
    method.email = text_in(object_in(json, "billing_details"), "email");
    method.created_ms = object_time_ms(json, "created");
    *ret = method;
    return 0;
}

int setup_read(const json_t *json, struct setup_object *ret)
{
    struct setup_object setup = {0};

    if (!object_is_kind(json, "setup_intent", &setup.id))
        return OBJECT_MALFORMED;
    const json_t *error = object_in(json, "last_setup_error");
    setup.status = text_in(json, "status");
    setup.customer = object_ref(json, "customer");
    setup.payment_method =
        str_first(object_ref(json, "payment_method"), object_ref(error, "payment_method"));
    setup.method_object = object_in(json, "payment_method");
    setup.client_secret = text_in(json, "client_secret");
    object_read_error(error, &setup.failure_code, &setup.failure_message);
    setup.metadata = object_in(json, "metadata");
    *ret = setup;
    return 0;
}

/* --- accounts and events --- */

int account_read(const json_t *json, struct account_object *ret)
{
    struct account_object account = {0};

    if (!object_is_kind(json, "account", &account.id))
        return OBJECT_MALFORMED;
    account.country = text_in(json, "country");
    account.email = text_in(json, "email");
    account.business_type = text_in(json, "business_type");
    account.charges_enabled = jr_bool(json, "charges_enabled", false);
    account.payouts_enabled = jr_bool(json, "payouts_enabled", false);
    account.details_submitted = jr_bool(json, "details_submitted", false);
    account.requirements = object_in(json, "requirements");
    *ret = account;
    return 0;
}

int event_read(const json_t *json, struct event_object *ret)
{
    struct event_object event = {0};

    event.thin = str_is(text_in(json, "object"), "v2.core.event");
    if (!object_is_kind(json, event.thin ? "v2.core.event" : "event", &event.id))
        return OBJECT_MALFORMED;
    event.type = text_in(json, "type");
    if (event.type.len == 0)
        return OBJECT_MALFORMED;
    event.api_version = text_in(json, "api_version");
    event.account = text_in(json, "account");
    event.created_ms = object_time_ms(json, "created");
    event.object = object_in(object_in(json, "data"), "object");
    event.previous_attributes = object_in(object_in(json, "data"), "previous_attributes");
    *ret = event;
    return 0;
}
