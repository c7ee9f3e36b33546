/* /integrations/svcpay/processor-connect/{fees,processor-fees,fees/calculate}: the fees on a
 * payment. */
#include "areas/payments/pay_common.h"
#include "base/ascii.h"
#include "base/num.h"

#define ROWS_MAX    100
#define DOC_BYTES   (1U << 20U)
#define COUNTRY_ANY "*"
#define COUNTRY_EEA "EEA"

/* Percentages are parsed as amounts of this currency: with two decimals, their minor units are
 * basis points. */
#define RATE_CURRENCY STR("usd")

struct fee_in {
    struct in_f64 percent, fixed;
    struct in_str currency;
};

struct row_in {
    struct in_str country;
    struct in_f64 percent, fixed;
    struct in_str currency;
    struct in_f64 international_percent, conversion_percent, recurring_percent;
};

struct rows_in {
    struct in_list rows; /* struct row_in */
};

struct calculate_in {
    struct in_json amount;
    struct in_str currency, country;
    struct in_bool recurring;
};

/* clang-format off */
#define RATE(member, text, ...)                                                                    \
    {.name = #member, .type = FIELD_F64, .has_min = true, .has_max = true, .max = 100,             \
     .doc = (text), .example = "2.5", __VA_ARGS__}
#define FIXED(...)                                                                                 \
    {.name = "fixed", .type = FIELD_F64, .has_min = true,                                          \
     .doc = "Amount added to the share, for payments in this currency", .example = "0.3", __VA_ARGS__}
#define CURRENCY(...)                                                                              \
    {.name = "currency", .type = FIELD_STR, .doc = "ISO 4217", .example = "\"usd\"", __VA_ARGS__}
#define COUNTRY(text, ...)                                                                         \
    {.name = "country", .type = FIELD_STR, .max = 3, .doc = (text), .example = "\"US\"", __VA_ARGS__}
#define SHARE_TEXT "Share of the amount in percent, at most two decimals"
#define ROW_TEXT   "Country of the account: ISO 3166 alpha-2, EEA or * (any other)"

static const struct field fee_in_fields[] = {
    RATE(percent, SHARE_TEXT, FIELD_AT(struct fee_in, percent), .nullable = true),
    FIXED(FIELD_AT(struct fee_in, fixed), .nullable = true),
    CURRENCY(FIELD_AT(struct fee_in, currency), .nullable = true),
};
static const struct schema fee_in_schema = SCHEMA("PlatformFeeUpdate", struct fee_in, fee_in_fields);
static const struct field fee_out_fields[] = {
    RATE(percent, SHARE_TEXT, .required = true),
    FIXED(.required = true),
    {.name = "fixed_minor", .type = FIELD_I64, .required = true, .example = "30"},
    CURRENCY(.required = true),
};
static const struct schema fee_out_schema = SCHEMA_OUT("PlatformFee", fee_out_fields);

static const struct field row_in_fields[] = {
    COUNTRY(ROW_TEXT, FIELD_AT(struct row_in, country), .required = true, .min = 1),
    RATE(percent, SHARE_TEXT, FIELD_AT(struct row_in, percent), .required = true),
    FIXED(FIELD_AT(struct row_in, fixed)),
    CURRENCY(FIELD_AT(struct row_in, currency), .required = true),
    RATE(international_percent, "Percentage added for cards of other countries",
         FIELD_AT(struct row_in, international_percent)),
    RATE(conversion_percent, "Percentage added when the payment is in a currency other than that of the row",
         FIELD_AT(struct row_in, conversion_percent)),
    RATE(recurring_percent, "Percentage added for subscriptions", FIELD_AT(struct row_in, recurring_percent)),
};
static const struct schema row_in_schema = SCHEMA("ProcessorFeeUpdate", struct row_in, row_in_fields);
static const struct field rows_in_fields[] = {
    {.name = "rows", FIELD_AT(struct rows_in, rows), .type = FIELD_LIST, .required = true, .nullable = true,
     .max = ROWS_MAX, .sub = &row_in_schema, .doc = "Replaces the schedule; null restores the public prices"},
};
static const struct schema rows_in_schema =
    SCHEMA("ProcessorFeeScheduleUpdate", struct rows_in, rows_in_fields);
static const struct field row_out_fields[] = {
    COUNTRY(ROW_TEXT, .required = true),
    RATE(percent, SHARE_TEXT, .required = true),
    FIXED(.required = true),
    {.name = "fixed_minor", .type = FIELD_I64, .required = true, .example = "30"},
    CURRENCY(.required = true),
    RATE(international_percent, "Percentage added for cards of other countries", .required = true),
    RATE(conversion_percent, "Percentage added when the payment is in a currency other than that of the row", .required = true),
    RATE(recurring_percent, "Percentage added for subscriptions", .required = true),
};
static const struct schema row_out_schema = SCHEMA_OUT("ProcessorFee", row_out_fields);
static const struct field rows_out_fields[] = {
    COUNTRY("Country of the project's account; null when it is not known", .required = true, .nullable = true),
    {.name = "is_default", .type = FIELD_BOOL, .required = true,
     .doc = "true: public standard prices, which can differ from the prices of the account"},
    {.name = "rows", .type = FIELD_LIST, .required = true, .sub = &row_out_schema},
};
static const struct schema rows_out_schema = SCHEMA_OUT("ProcessorFeeSchedule", rows_out_fields);

static const struct field calculate_in_fields[] = {
    {.name = "amount", FIELD_AT(struct calculate_in, amount), .type = FIELD_JSON, .required = true,
     .doc = "Decimal number", .example = "12.5"},
    CURRENCY(FIELD_AT(struct calculate_in, currency), .required = true),
    COUNTRY("Country whose row of the schedule applies; the account's country when left out",
            FIELD_AT(struct calculate_in, country), .nullable = true, .min = 1),
    {.name = "recurring", FIELD_AT(struct calculate_in, recurring), .type = FIELD_BOOL,
     .doc = "Whether the payment belongs to a subscription"},
};
static const struct schema calculate_in_schema =
    SCHEMA("FeeCalculation", struct calculate_in, calculate_in_fields);
#define MONEY_OUT(member, text)                                                                    \
    {.name = #member, .type = FIELD_F64, .required = true, .doc = (text), .example = "12.5"},      \
    {.name = #member "_minor", .type = FIELD_I64, .required = true, .example = "1250"}
static const struct field calculate_out_fields[] = {
    MONEY_OUT(amount, "The given amount"),
    CURRENCY(.required = true),
    COUNTRY("Country of the row of the schedule that was applied", .required = true),
    MONEY_OUT(platform_fee, "The platform's fee"),
    MONEY_OUT(processor_fee, "The processor's fee, an estimate for a domestic card"),
    MONEY_OUT(net_payout, "Amount that remains after both fees, at least 0"),
};
static const struct schema calculate_out_schema = SCHEMA_OUT("FeeEstimate", calculate_out_fields);
/* clang-format on */

/* --- reading numbers --- */

/* Returns minor units; 0 when the member is left out or null. Adds findings to `errors`. */
static int64_t fees_read_number(struct req *r,
                                const struct in_f64 *in,
                                const char *field,
                                struct str currency,
                                struct schema_errors *errors)
{
    char text[32];
    int64_t minor = 0;

    if (!in->set || in->null)
        return 0;
    size_t len = num_print_f64(text, in->value);
    int rc = money_parse((struct str){text, len}, currency, &minor);
    if (rc)
        schema_error_add(
            r->task.arena, errors, str_from(field), PROBLEM_OUT_OF_RANGE, "%s", money_message(rc));
    return minor;
}

static int64_t
read_rate(struct req *r, const struct in_f64 *in, const char *field, struct schema_errors *errors)
{
    char text[32];
    int64_t points = 0;

    if (!in->set || in->null)
        return 0;
    size_t len = num_print_f64(text, in->value);
    if (money_parse((struct str){text, len}, RATE_CURRENCY, &points) != 0)
        schema_error_add(r->task.arena,
                         errors,
                         str_from(field),
                         PROBLEM_OUT_OF_RANGE,
                         "must have at most two decimals");
    return points;
}

static struct str
read_currency(struct req *r, struct str text, const char *field, struct schema_errors *errors)
{
    struct str currency = RATE_CURRENCY;
    int rc = money_currency(r->task.arena, text, &currency);

    if (rc)
        schema_error_add(
            r->task.arena, errors, str_from(field), PROBLEM_PATTERN, "%s", money_message(rc));
    return currency;
}

static void put_rate(struct jw *w, const char *name, int64_t points)
{
    jw_lit(w, name);
    jw_raw(w, money_text(w->out->arena, points, RATE_CURRENCY));
}

AWAITS static int fees_save(struct req *r, const char *key, const char *action, struct str doc)
{
    return pay_settings_save(r, key, doc, STR_NONE, gateway_audit(r, action, "processor", 0, doc));
}

/* --- the platform's fee --- */

static void fees_put(struct jw *w, const struct platform_fee *fee)
{
    put_rate(w, "percent", fee->basis_points);
    money_json(w, "fixed", fee->fixed_minor, fee->currency);
    JW_STR(w, "currency", fee->currency);
}

static int reply_fee(struct req *r, const struct platform_fee *fee)
{
    struct jw w = resp_json(r);

    jw_obj(&w);
    fees_put(&w, fee);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int fees_get(struct req *r)
{
    const struct payment_settings *settings;

    TRY(pay_settings_read(r, &settings));
    return reply_fee(r, &settings->fee);
}

/* Copies the stored value of each member that the body leaves out. */
static void fill_from_stored(struct req *r, const json_t *doc, struct fee_in *in)
{
    const json_t *percent = json_object_get(doc, "percent");
    const json_t *fixed = json_object_get(doc, "fixed");
    struct str currency = jr_str(doc, "currency");

    if (!in->percent.set && json_is_number(percent))
        in->percent = (struct in_f64){.set = true, .value = json_number_value(percent)};
    if (!in->fixed.set && json_is_number(fixed))
        in->fixed = (struct in_f64){.set = true, .value = json_number_value(fixed)};
    if (!in->currency.set && currency.len)
        in->currency = (struct in_str){.set = true, .value = arena_dup(r->task.arena, currency)};
    if (!in->currency.set || in->currency.null)
        in->currency.value = RATE_CURRENCY;
}

static struct str fee_doc(struct req *r, const struct platform_fee *fee)
{
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, r->task.arena, DOC_BYTES);
    jw_init(&w, &out);
    jw_obj(&w);
    fees_put(&w, fee);
    jw_obj_end(&w);
    return strbuf_view(&out);
}

AWAITS static int fees_update(struct req *r)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    struct platform_fee fee;
    struct fee_in in;
    json_t *doc;

    TRY(req_json(r, &fee_in_schema, &in));
    TRY(sql_begin(r));
    TRY(pay_settings_lock(r, PAYMENT_SETTINGS_FEES, &doc, NULL));
    fill_from_stored(r, doc, &in);
    fee.currency = read_currency(r, in.currency.value, "currency", errors);
    fee.basis_points = read_rate(r, &in.percent, "percent", errors);
    fee.fixed_minor = fees_read_number(r, &in.fixed, "fixed", fee.currency, errors);
    if (errors->count)
        return fail_fields(r, errors);
    TRY(fees_save(r, PAYMENT_SETTINGS_FEES, "platform_fee.update", fee_doc(r, &fee)));
    return reply_fee(r, &fee);
}

/* --- the processor's schedule --- */

static void put_row(struct jw *w, const struct processor_fee *row)
{
    jw_obj(w);
    JW_STR(w, "country", row->country);
    put_rate(w, "percent", row->basis_points);
    money_json(w, "fixed", row->fixed_minor, row->currency);
    JW_STR(w, "currency", row->currency);
    put_rate(w, "international_percent", row->international_basis_points);
    put_rate(w, "conversion_percent", row->conversion_basis_points);
    put_rate(w, "recurring_percent", row->recurring_basis_points);
    jw_obj_end(w);
}

static void put_rows(struct jw *w, const struct processor_fee *rows, size_t count)
{
    jw_lit(w, "rows");
    jw_arr(w);
    for (size_t i = 0; i < count; i++)
        put_row(w, &rows[i]);
    jw_arr_end(w);
}

static int reply_schedule(struct req *r, const struct payment_settings *settings)
{
    size_t count;
    struct jw w = resp_json(r);

    jw_obj(&w);
    JW_STR_OR_NULL(&w, "country", settings->processor.country);
    JW_BOOL(&w, "is_default", settings->schedule == processor_fee_default(&count));
    put_rows(&w, settings->schedule, settings->schedule_count);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

AWAITS static int schedule_get(struct req *r)
{
    const struct payment_settings *settings;

    TRY(pay_settings_read(r, &settings));
    return reply_schedule(r, settings);
}

/* Returns the country in upper case; STR_NONE when it is malformed. */
static struct str fees_read_country(struct arena *arena, struct str text)
{
    struct str country = arena_upper(arena, text);
    bool code = text.len == 2 && ascii_has_only(country, ASCII_UPPER, "");

    return code || str_is(country, COUNTRY_ANY) || str_is(country, COUNTRY_EEA) ? country
                                                                                : STR_NONE;
}

static void fees_read_row(struct req *r,
                          const struct row_in *in,
                          size_t index,
                          struct processor_fee *row,
                          struct schema_errors *errors)
{
    struct arena *arena = r->task.arena;
#define AT(member) arena_printf(arena, "rows[%zu]." member, index).ptr

    row->country = fees_read_country(arena, in->country.value);
    if (!row->country.len)
        schema_error_add(arena,
                         errors,
                         str_from(AT("country")),
                         PROBLEM_PATTERN,
                         "must be a country code of two letters, EEA or *");
    row->currency = read_currency(r, in->currency.value, AT("currency"), errors);
    row->basis_points = read_rate(r, &in->percent, AT("percent"), errors);
    row->fixed_minor = fees_read_number(r, &in->fixed, AT("fixed"), row->currency, errors);
    row->international_basis_points =
        read_rate(r, &in->international_percent, AT("international_percent"), errors);
    row->conversion_basis_points =
        read_rate(r, &in->conversion_percent, AT("conversion_percent"), errors);
    row->recurring_basis_points =
        read_rate(r, &in->recurring_percent, AT("recurring_percent"), errors);
#undef AT
}

static int fees_read_rows(struct req *r, const struct in_list *in, struct processor_fee *rows)
{
    struct schema_errors *errors = ARENA_NEW(r->task.arena, errors);
    const struct row_in *items = in->items;

    for (size_t i = 0; i < in->count; i++) {
        fees_read_row(r, &items[i], i, &rows[i], errors);
        for (size_t k = 0; k < i; k++)
            if (rows[i].country.len && str_eq(rows[k].country, rows[i].country))
                schema_error_add(r->task.arena,
                                 errors,
                                 arena_printf(r->task.arena, "rows[%zu].country", i),
                                 PROBLEM_UNIQUE_VIOLATION,
                                 "already has a row");
    }
    return errors->count ? fail_fields(r, errors) : 0;
}

static struct str schedule_doc(struct req *r, const struct processor_fee *rows, size_t count)
{
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, r->task.arena, DOC_BYTES);
    jw_init(&w, &out);
    jw_obj(&w);
    put_rows(&w, rows, count);
    jw_obj_end(&w);
    return strbuf_view(&out);
}

static bool is_default_schedule(struct req *r, const struct processor_fee *rows, size_t count)
{
    size_t default_count;
    const struct processor_fee *defaults = processor_fee_default(&default_count);

    return str_eq(schedule_doc(r, rows, count), schedule_doc(r, defaults, default_count));
}

AWAITS static int schedule_update(struct req *r)
{
    const struct payment_settings *settings;
    struct rows_in in;

    TRY(req_json(r, &rows_in_schema, &in));
    if (!in.rows.null && !in.rows.count)
        return fail_field(r, "rows", PROBLEM_OUT_OF_RANGE, "must not be empty");
    struct processor_fee *rows = ARENA_ARRAY(r->task.arena, rows, in.rows.count + 1);
    TRY(fees_read_rows(r, &in.rows, rows));
    size_t count = is_default_schedule(r, rows, in.rows.count) ? 0 : in.rows.count;
    TRY(sql_begin(r));
    TRY(fees_save(
        r, PAYMENT_SETTINGS_SCHEDULE, "processor_fees.update", schedule_doc(r, rows, count)));
    TRY(pay_settings_get(r, false, &settings));
    struct payment_settings shown = *settings;
    shown.schedule = rows;
    shown.schedule_count = count;
    if (count == 0)
        shown.schedule = processor_fee_default(&shown.schedule_count);
    return reply_schedule(r, &shown);
}

/* --- an estimate --- */

AWAITS static int fees_calculate(struct req *r)
{
    const struct payment_settings *settings;
    struct calculate_in in;
    struct str currency;
    int64_t amount;

    TRY(req_json(r, &calculate_in_schema, &in));
    TRY(pay_amount(r, in.amount.value, in.currency.value, &amount, &currency));
    TRY(pay_settings_get(r, false, &settings));
    struct str country = settings->processor.country;
    if (in.country.value.len) {
        country = fees_read_country(r->task.arena, in.country.value);
        if (!country.len)
            return fail_field(
                r, "country", PROBLEM_PATTERN, "must be a country code of two letters, EEA or *");
    }
    const struct processor_fee *row =
        processor_fee_find(settings->schedule, settings->schedule_count, country);
    if (!row)
        return fail(
            r,
            PROBLEM_CONFLICT,
            "The processor's fee schedule has no row for this country, and none for " COUNTRY_ANY
            ".");
    int64_t platform = fee_platform(&settings->fee, amount, currency);
    int64_t processor = fee_processor(row, amount, currency, in.recurring.value);
    int64_t net = amount - platform - processor;
    struct jw w = resp_json(r);
    jw_obj(&w);
    money_json(&w, "amount", amount, currency);
    JW_STR(&w, "currency", currency);
    JW_STR(&w, "country", row->country);
    money_json(&w, "platform_fee", platform, currency);
    money_json(&w, "processor_fee", processor, currency);
    money_json(&w, "net_payout", net > 0 ? net : 0, currency);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

static const struct route processor_fees_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/processor-connect/fees",
        .id = "platform_fee_get",
        .auth = AUTH_ADMIN,
        .success = {200, &fee_out_schema},
        .run = fees_get,
        .summary = "Read the platform's fee",
    },
    {
        .method = HTTP_PUT_M,
        .path = PAYMENTS_BASE "/processor-connect/fees",
        .id = "platform_fee_update",
        .auth = AUTH_ADMIN,
        .body = &fee_in_schema,
        .success = {200, &fee_out_schema},
        .run = fees_update,
        .summary = "Change the platform's fee",
        .doc = "Members left out keep their value, null restores the default: no fee.",
    },
    {
        .method = HTTP_GET_M,
        .path = PAYMENTS_BASE "/processor-connect/processor-fees",
        .id = "processor_fees_get",
        .auth = AUTH_ADMIN,
        .success = {200, &rows_out_schema},
        .run = schedule_get,
        .summary = "Read the processor's fee schedule",
    },
    {
        .method = HTTP_PUT_M,
        .path = PAYMENTS_BASE "/processor-connect/processor-fees",
        .id = "processor_fees_update",
        .auth = AUTH_ADMIN,
        .body = &rows_in_schema,
        .success = {200, &rows_out_schema},
        .run = schedule_update,
        .summary = "Replace the processor's fee schedule",
    },
    {
        .method = HTTP_POST_M,
        .path = PAYMENTS_BASE "/processor-connect/fees/calculate",
        .id = "fees_calculate",
        .auth = AUTH_ADMIN,
        .body = &calculate_in_schema,
        .success = {200, &calculate_out_schema},
        .extra_statuses = {409},
        .run = fees_calculate,
        .class = CLASS_READ,
        .summary = "Estimate what remains of an amount after both fees",
        .doc = "An estimate: the processor's real fee is known once the payment is settled.",
    },
};
ROUTES(processor_fees, "Payments");
