/* Codes of offers: creating, changing and redeeming codes. */
#include "areas/payments/billing/balances.h"
#include "areas/payments/billing/offers.h"
#include "areas/payments/idempotency.h"
#include "areas/payments/pay_common.h"
#include "base/ascii.h"
#include "base/panic.h"
#include "base/rand.h"
#include "offers_sql.h"

#define CODES_AT_ONCE  1000
#define CODE_CHARS_MAX 40
#define CODE_CHARS     12 /* characters of a generated code */

/* --- codes --- */

struct str offer_code_normalize(struct arena *arena, struct str code)
{
    struct str text = str_trim(code);

    if (!text.len || text.len > CODE_CHARS_MAX || !ascii_has_only(text, ASCII_ALNUM, "-_"))
        return STR_NONE;
    return arena_upper(arena, text);
}

/* The alphabet has no characters that are easily confused (I and 1, O and 0). A code has 60 random
 * bits, too many to guess. */
static struct str random_code(struct arena *arena)
{
    static const char alphabet[] = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    uint8_t bytes[CODE_CHARS];
    char *code = arena_alloc(arena, CODE_CHARS + 1);

    rand_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < CODE_CHARS; i++)
        code[i] = alphabet[bytes[i] % (sizeof(alphabet) - 1)];
    code[CODE_CHARS] = '\0';
    return (struct str){code, CODE_CHARS};
}

struct codes_in {
    struct in_strs codes;
    struct in_i64 count;
    struct in_i64 user_id;
    struct in_i64 max_redemptions;
    struct in_str expires_at;
    struct in_bool is_active;
};

#define CODE_SETTINGS                                                                              \
    {.name = "user_id",                                                                            \
     FIELD_AT(struct codes_in, user_id),                                                           \
     .type = FIELD_I64,                                                                            \
     .nullable = true,                                                                             \
     .doc = "The only user who may redeem the code"},                                              \
        {.name = "max_redemptions",                                                                \
         FIELD_AT(struct codes_in, max_redemptions),                                               \
         .type = FIELD_I64,                                                                        \
         .nullable = true,                                                                         \
         .has_min = true,                                                                          \
         .min = 1,                                                                                 \
         .has_max = true,                                                                          \
         .max = 1000000000},                                                                       \
    {                                                                                              \
        .name = "expires_at", FIELD_AT(struct codes_in, expires_at), .type = FIELD_TIME,           \
        .nullable = true                                                                           \
    }

static const struct field add_fields[] = {
    {.name = "codes",
     FIELD_AT(struct codes_in, codes),
     .type = FIELD_STRS,
     .max = CODES_AT_ONCE,
     .doc = "Letters, digits, - and _; case does not matter",
     .example = "[\"AUTUMN\"]"},
    {.name = "count",
     FIELD_AT(struct codes_in, count),
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = CODES_AT_ONCE,
     .doc = "Number of codes to generate when codes is left out; 1 by default"},
    CODE_SETTINGS,
};
static const struct field save_fields[] = {
    CODE_SETTINGS,
    {.name = "is_active", FIELD_AT(struct codes_in, is_active), .type = FIELD_BOOL},
};
static const struct schema add_schema = SCHEMA("OfferCodesCreate", struct codes_in, add_fields);
static const struct schema save_schema = SCHEMA("OfferCodeUpdate", struct codes_in, save_fields);

static const struct field code_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "offer_id", .type = FIELD_I64, .required = true},
    {.name = "code", .type = FIELD_STR, .required = true},
    {.name = "user_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "max_redemptions", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "redeemed", .type = FIELD_I64, .required = true},
    {.name = "expires_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "is_active", .type = FIELD_BOOL, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
    {.name = "updated_at", .type = FIELD_TIME, .required = true},
};
static const struct schema code_schema = SCHEMA_OUT("OfferCode", code_fields);
static const struct field codes_fields[] = {
    {.name = "items", .type = FIELD_LIST, .sub = &code_schema, .required = true},
};
static const struct schema codes_schema = SCHEMA_OUT("OfferCodes", codes_fields);

/* *ret_codes: the codes to store, given or generated. 400 names the first malformed code. */
static int
read_codes(struct req *r, const struct codes_in *in, struct str **ret_codes, size_t *ret_count)
{
    size_t count = in->codes.set ? in->codes.count : in->count.set ? (size_t)in->count.value : 1;
    struct str *codes = ARENA_ARRAY(r->task.arena, codes, count);

    if (in->codes.set && in->count.set)
        return fail_field(r, "count", PROBLEM_PATTERN, "cannot be combined with codes");
    if (count == 0)
        return fail_field(r, "codes", PROBLEM_OUT_OF_RANGE, "must have at least one code");
    for (size_t i = 0; i < count; i++) {
        codes[i] = in->codes.set ? offer_code_normalize(r->task.arena, in->codes.items[i])
                                 : random_code(r->task.arena);
        if (!codes[i].ptr)
            return fail_field(r,
                              arena_printf(r->task.arena, "codes[%zu]", i).ptr,
                              PROBLEM_PATTERN,
                              "must be 1 to %d letters, digits, - and _",
                              CODE_CHARS_MAX);
    }
    *ret_codes = codes;
    *ret_count = count;
    return 0;
}

AWAITS static int offer_guard(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    return sql_one(r, &rows, SQL_OFFER_GET(.id = id));
}

AWAITS static int offer_code_guard(struct req *r)
{
    struct rows rows;
    int64_t id;
    int64_t code;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "code_id", &code));
    return sql_one(r, &rows, SQL_OFFER_CODE_KNOWN(.offer_id = id, .id = code));
}

AWAITS static int offer_codes_create(struct req *r)
{
    struct codes_in in;
    struct str *codes = NULL;
    struct rows rows;
    size_t count = 0;
    struct jw w;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(req_json(r, &add_schema, &in));
    TRY(read_codes(r, &in, &codes, &count));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_OFFER_LOCK(.id = id)));
    TRY(sql_all(
        r,
        &rows,
        SQL_OFFER_CODES_ADD(.offer_id = id,
                            .codes = sql_strs(codes, count),
                            .user_id = in.user_id.set && !in.user_id.null
                                           ? some_i64(in.user_id.value)
                                           : NO_I64,
                            .max_redemptions = in.max_redemptions.set && !in.max_redemptions.null
                                                   ? some_i64(in.max_redemptions.value)
                                                   : NO_I64,
                            .expires_at = in.expires_at.value)));
    if (rows.count != count)
        return fail(
            r, PROBLEM_UNIQUE_VIOLATION, "One of these codes exists already, or is given twice.");
    TRY(gateway_commit(r, gateway_audit(r, "offers.codes", "offer", id, STR_NONE)));
    w = resp_json(r);
    jw_obj(&w);
    jw_lit(&w, "items");
    rows_json_array(&r->task, &w, &rows, rows.count);
    jw_obj_end(&w);
    resp_header(r, "Location", r->path);
    return reply_json(r, 201);
}

AWAITS static int offer_codes_list(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &rows, SQL_OFFER_GET(.id = id)));
    return reply_page(r, "id", SQL_OFFER_CODES_LIST(.offer_id = id));
}

AWAITS static int offer_codes_update(struct req *r)
{
    struct codes_in in;
    struct rows rows;
    int64_t id;
    int64_t code;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "code_id", &code));
    TRY(req_json(r, &save_schema, &in));
    TRY(sql_begin(r));
    TRY(sql_one(r,
                &rows,
                SQL_OFFER_CODE_SAVE(
                        .offer_id = id,
                        .id = code,
                        .user_set = in.user_id.set,
                        .user_id = in.user_id.null ? NO_I64 : some_i64(in.user_id.value),
                        .max_set = in.max_redemptions.set,
                        .max_redemptions =
                            in.max_redemptions.null ? NO_I64 : some_i64(in.max_redemptions.value),
                        .expires_set = in.expires_at.set,
                        .expires_at = in.expires_at.value,
                        .is_active = in.is_active.set ? some_bool(in.is_active.value) : NO_BOOL)));
    TRY(gateway_commit(r, gateway_audit(r, "offers.code_update", "offer", id, STR_NONE)));
    return reply_row(r, 200, &rows);
}

AWAITS static int offer_codes_delete(struct req *r)
{
    struct rows rows;
    int64_t id;
    int64_t code;

    TRY(req_id(r, "id", &id));
    TRY(req_id(r, "code_id", &code));
    TRY(sql_begin(r));
    TRY(sql_one(r, &rows, SQL_OFFER_CODE_REMOVE(.offer_id = id, .id = code)));
    TRY(gateway_commit(r, gateway_audit(r, "offers.code_delete", "offer", id, STR_NONE)));
    return reply_empty(r, 204);
}

/* --- redeeming --- */

AWAITS static int book_credit(struct req *r, const struct offer *offer, int64_t user_id)
{
    const struct balance_change change = {
        .user_id = user_id,
        .unit = offer->currency,
        .delta_minor = offer->amount_minor,
        .reason = STR("offer"),
        .reference = arena_printf(r->task.arena, "offer:%lld", (long long)offer->id),
        .actor_id = user_id,
    };
    struct rows balance;

    return balance_book(r, &change, &balance);
}

/* The second statement counts the limits after the offer is locked, so it sees every redemption
 * that was committed before. */
AWAITS static int
find_code(struct req *r, struct str code, int64_t user_id, int64_t plan_id, struct rows *ret_state)
{
    struct rows rows;

    TRY(sql_one(r, &rows, SQL_OFFER_CODE_LOCK(.code = code)));
    TRY(sql_one(
        r, ret_state, SQL_OFFER_CODE_STATE(.code = code, .user_id = user_id, .plan_id = plan_id)));
    struct str refusal = sql_offer_code_state_row(ret_state, 0).refusal;
    if (refusal.ptr)
        return fail(r, PROBLEM_OFFER_UNAVAILABLE, "The offer %.*s.", STR_ARG(refusal));
    return 0;
}

AWAITS int offer_redeem(struct req *r,
                        struct str code,
                        int64_t user_id,
                        int64_t plan_id,
                        int64_t subscription_id,
                        struct offer *ret_offer)
{
    struct str normal = offer_code_normalize(r->task.arena, code);
    struct rows rows;

    if (!normal.ptr)
        return fail(r, PROBLEM_NOT_FOUND, "There is no such code.");
    TRY(find_code(r, normal, user_id, plan_id, &rows));
    const struct sql_offer_code_state_row row = sql_offer_code_state_row(&rows, 0);
    *ret_offer = (struct offer){
        .id = row.offer_id,
        .kind = row.kind,
        .basis_points = row.basis_points.value,
        .amount_minor = row.amount_minor.value,
        .currency = row.currency,
        .trial_days = row.trial_days.value,
        .store_offer_id = row.store_offer_id,
    };
    int64_t code_id = row.code_id;
    struct db_call calls[] = {
        db_call(SQL_OFFER_REDEEMED(.offer_id = ret_offer->id,
                                   .code_id = code_id,
                                   .user_id = user_id,
                                   .subscription_id = some_id(subscription_id),
                                   .reference = normal)),
        db_call(SQL_OFFER_CODE_USED(.id = code_id)),
    };
    TRY(sql_batch(r, calls, ARRAY_LEN(calls)));
    ret_offer->redemption_id = sql_offer_redeemed_row(&calls[0].rows, 0).id;
    return str_is(ret_offer->kind, "credit") ? book_credit(r, ret_offer, user_id) : 0;
}

int64_t offer_price(const struct offer *offer, int64_t amount_minor)
{
    int64_t off = 0;

    if (str_is(offer->kind, "percent"))
        off = fee_share(amount_minor, offer->basis_points);
    else if (str_is(offer->kind, "amount"))
        off = offer->amount_minor;
    return off < amount_minor ? amount_minor - off : 0;
}

/* --- codes of the caller --- */

static const struct field own_code_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "code", .type = FIELD_STR, .required = true},
    {.name = "expires_at", .type = FIELD_TIME, .required = true, .nullable = true},
    {.name = "offer_id", .type = FIELD_I64, .required = true},
    {.name = "name", .type = FIELD_STR, .required = true},
    {.name = "description", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "kind", .type = FIELD_STR, .required = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
};
static const struct schema own_code_schema = SCHEMA_OUT("OfferCodeOwn", own_code_fields);

struct redeem_in {
    struct in_str code;
    struct in_str idempotency_key;
};
static const struct field redeem_fields[] = {
    {.name = "code",
     FIELD_AT(struct redeem_in, code),
     .type = FIELD_STR,
     .required = true,
     .max = CODE_CHARS_MAX,
     .example = "\"AUTUMN\""},
    IDEM_MEMBER(struct redeem_in),
};
static const struct schema redeem_schema = SCHEMA("OfferRedeem", struct redeem_in, redeem_fields);

static const struct field redeemed_fields[] = {
    {.name = "redemption_id", .type = FIELD_I64, .required = true},
    {.name = "offer_id", .type = FIELD_I64, .required = true},
    {.name = "kind", .type = FIELD_STR, .required = true},
    {.name = "redeem_url",
     .type = FIELD_STR,
     .required = true,
     .nullable = true,
     .doc = "Where the app store redeems the code of a store offer"},
};
static const struct schema redeemed_schema = SCHEMA_OUT("OfferRedeemed", redeemed_fields);

AWAITS static int offer_codes_list_own(struct req *r)
{
    return reply_page(r, "id", SQL_OFFER_CODES_MINE(.user_id = r->scope->caller->user_id));
}

static int reply_redeemed(struct req *r,
                          const struct payment_settings *settings,
                          const struct offer *offer,
                          struct str code)
{
    struct str url = STR_NONE;
    struct jw w = resp_json(r);

    if (str_is(offer->kind, "store") && settings->store.app_apple_id)
        url = arena_printf(r->task.arena,
                           "https://apps.apple.com/redeem?ctx=offercodes&id=%lld&code=%.*s",
                           (long long)settings->store.app_apple_id,
                           STR_ARG(offer_code_normalize(r->task.arena, code)));
    jw_obj(&w);
    JW_I64(&w, "redemption_id", offer->redemption_id);
    JW_I64(&w, "offer_id", offer->id);
    JW_STR(&w, "kind", offer->kind);
    JW_STR_OR_NULL(&w, "redeem_url", url);
    jw_obj_end(&w);
    return reply_json(r, 200);
}

/* Redeems offers of the kinds store and credit; POST /subscriptions redeems the other kinds. */
AWAITS static int redeem_code(struct req *r, struct str code, struct idem *idem)
{
    const struct payment_settings *settings;
    struct offer offer = {0};

    TRY(pay_settings_get(r, false, &settings));
    TRY(sql_begin(r));
    TRY(offer_redeem(r, code, r->scope->caller->user_id, 0, 0, &offer));
    if (!str_is(offer.kind, "store") && !str_is(offer.kind, "credit"))
        return fail(r,
                    PROBLEM_CONFLICT,
                    "This code is for a subscription: send it as offer_code to POST " PAYMENTS_BASE
                    "/subscriptions.");
    int status = reply_redeemed(r, settings, &offer, code);
    TRY(idem_store_answer(r, idem, status));
    TRY(sql_commit(r));
    return status;
}

AWAITS static int offers_redeem(struct req *r)
{
    struct redeem_in in;
    struct idem idem;

    TRY(req_json(r, &redeem_schema, &in));
    TRY(idem_begin(r, &in.idempotency_key, &idem));
    return idem_finish(r, &idem, redeem_code(r, in.code.value, &idem));
}

/* --- redemptions --- */

static const struct field redemption_fields[] = {
    {.name = "id", .type = FIELD_I64, .required = true},
    {.name = "offer_id", .type = FIELD_I64, .required = true},
    {.name = "code_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "code", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "user_id", .type = FIELD_I64, .required = true},
    {.name = "subscription_id", .type = FIELD_I64, .required = true, .nullable = true},
    {.name = "reference", .type = FIELD_STR, .required = true, .nullable = true},
    {.name = "created_at", .type = FIELD_TIME, .required = true},
};
static const struct schema redemption_schema = SCHEMA_OUT("OfferRedemption", redemption_fields);

AWAITS static int offer_redemptions(struct req *r)
{
    struct rows rows;
    int64_t id;

    TRY(req_id(r, "id", &id));
    TRY(sql_one(r, &rows, SQL_OFFER_GET(.id = id)));
    return reply_page(r, "-id", SQL_OFFER_REDEMPTIONS_LIST(.offer_id = id));
}

#define OFFERS PAYMENTS_BASE "/offers"

static const struct route offer_codes_routes[] = {
    {
        .method = HTTP_GET_M,
        .path = OFFERS "/{id}/codes",
        .id = "offer_codes_list",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_READ,
        .query = page_query,
        .success = {200, &code_schema, .list = true},
        .extra_statuses = {404},
        .run = offer_codes_list,
        .summary = "List the codes of an offer",
    },
    {
        .method = HTTP_POST_M,
        .path = OFFERS "/{id}/codes",
        .id = "offer_codes_create",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_CREATE,
        .body = &add_schema,
        .success = {201, &codes_schema},
        .extra_statuses = {404, 409},
        .run = offer_codes_create,
        .guard = offer_guard,
        .summary = "Add given or generated codes to an offer",
    },
    {
        .method = HTTP_PUT_M,
        .path = OFFERS "/{id}/codes/{code_id}",
        .id = "offer_codes_update",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_UPDATE,
        .body = &save_schema,
        .success = {200, &code_schema},
        .extra_statuses = {404},
        .run = offer_codes_update,
        .guard = offer_code_guard,
        .summary = "Change a code",
    },
    {
        .method = HTTP_DELETE_M,
        .path = OFFERS "/{id}/codes/{code_id}",
        .id = "offer_codes_delete",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_DELETE,
        .success = {204},
        .extra_statuses = {404},
        .run = offer_codes_delete,
        .guard = offer_code_guard,
        .summary = "Delete a code; its redemptions stay valid",
    },
    {
        .method = HTTP_GET_M,
        .path = OFFERS "/{id}/redemptions",
        .id = "offer_redemptions",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_OFFERS_READ,
        .query = page_query,
        .success = {200, &redemption_schema, .list = true},
        .extra_statuses = {404},
        .run = offer_redemptions,
        .summary = "List the redemptions of an offer",
    },
    {
        .method = HTTP_GET_M,
        .path = OFFERS "/me/codes",
        .id = "offers_mine",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SUBSCRIPTION_PLANS_READ,
        .query = page_query,
        .success = {200, &own_code_schema, .list = true},
        .run = offer_codes_list_own,
        .summary = "List codes that the caller can redeem",
    },
    {
        .method = HTTP_POST_M,
        .path = OFFERS "/me/redeem",
        .id = "offers_redeem",
        .auth = AUTH_USER_OR_KEY,
        .perm = PERM_SVC_SUBSCRIPTION_PLANS_READ,
        .body = &redeem_schema,
        .headers = HEADER_IDEMPOTENCY_KEY,
        .success = {200, &redeemed_schema},
        .extra_statuses = {404, 409, 422},
        .run = offers_redeem,
        .summary = "Redeem a code for the caller, once per idempotency key",
    },
};
ROUTES(offer_codes, "Payments");
