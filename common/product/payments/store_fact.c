/* Facts about a purchase: read from a stored notification, and kept in history. */
#include <string.h>

#include "json/jr.h"
#include "payments/store_private.h"

enum { FACT_BYTES_MAX = 65536, TEXT_BYTES_MAX = 512 };
#define NUMBER_MAX 253402300799999LL /* the last millisecond of the year 9999 */

/* Source of each member of a fact, and its name in history. */
enum part { PART_DATA, PART_TRANSACTION, PART_RENEWAL };
struct member {
    const char *name;
    enum part part;
    const char *source;
    size_t offset;
    bool text;
    int64_t absent;
};
#define TEXT(part, source, member)                                                                 \
    {                                                                                              \
#member, part, source, offsetof(struct store_fact, member), true, 0                        \
    }
#define NUMBER(part, source, member, absent)                                                       \
    {                                                                                              \
#member, part, source, offsetof(struct store_fact, member), false, absent                  \
    }

static const struct member members[] = {
    NUMBER(PART_DATA, "status", status, 0),
    TEXT(PART_TRANSACTION, "transactionId", transaction_id),
    TEXT(PART_TRANSACTION, "productId", product_id),
    TEXT(PART_TRANSACTION, "appAccountToken", account_token),
    TEXT(PART_TRANSACTION, "inAppOwnershipType", ownership),
    TEXT(PART_TRANSACTION, "currency", currency),
    TEXT(PART_TRANSACTION, "offerDiscountType", offer_discount),
    TEXT(PART_TRANSACTION, "offerPeriod", offer_period),
    TEXT(PART_TRANSACTION, "offerIdentifier", offer_id),
    TEXT(PART_TRANSACTION, "revocationType", revocation_type),
    NUMBER(PART_TRANSACTION, "purchaseDate", purchase_ms, 0),
    NUMBER(PART_TRANSACTION, "expiresDate", expires_ms, 0),
    NUMBER(PART_TRANSACTION, "revocationDate", revoked_ms, 0),
    NUMBER(PART_TRANSACTION, "revocationPercentage", revoked_percentage, 0),
    NUMBER(PART_TRANSACTION, "price", price_milli, 0),
    NUMBER(PART_TRANSACTION, "quantity", quantity, 0),
    TEXT(PART_RENEWAL, "autoRenewProductId", next_product_id),
    TEXT(PART_RENEWAL, "appAccountToken", renewal_account_token),
    NUMBER(PART_RENEWAL, "autoRenewStatus", auto_renew, -1),
    NUMBER(PART_RENEWAL, "renewalDate", renewal_ms, 0),
    NUMBER(PART_RENEWAL, "gracePeriodExpiresDate", grace_ms, 0),
    NUMBER(PART_RENEWAL, "expirationIntent", expiration_intent, 0),
};

static struct str *text_at(struct store_fact *fact, const struct member *member)
{
    return (struct str *)(void *)((char *)fact + member->offset);
}

static int64_t *number_at(struct store_fact *fact, const struct member *member)
{
    return (int64_t *)(void *)((char *)fact + member->offset);
}

/* Ignores implausible values: they would overflow the column, or an int64 when summed. */
static void member_read(struct store_fact *fact,
                        const struct member *member,
                        const json_t *from,
                        const char *name)
{
    if (member->text) {
        struct str text = jr_str(from, name);
        *text_at(fact, member) = text.len <= TEXT_BYTES_MAX ? text : STR_NONE;
    } else {
        int64_t number = jr_i64(from, name, member->absent);
        *number_at(fact, member) = number >= 0 && number <= NUMBER_MAX ? number : member->absent;
    }
}

/* --- in history --- */

/* Rank among facts of one millisecond: a beginning is before an end. */
static int fact_rank(const struct store_fact *fact)
{
    if (str_is(fact->type, "SUBSCRIBED") || str_is(fact->type, "OFFER_REDEEMED"))
        return 0;
    if (str_is(fact->type, "EXPIRED") || str_is(fact->type, "REVOKE") ||
        str_is(fact->type, "REFUND"))
        return 2;
    return 1;
}

struct str store_fact_print(struct arena *arena, const struct store_fact *fact)
{
    struct store_fact copy = *fact;
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, FACT_BYTES_MAX);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_STR(&w, "type", fact->type);
    if (fact->subtype.len > 0)
        JW_STR(&w, "subtype", fact->subtype);
    JW_I64(&w, "rank", fact_rank(fact));
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const struct member *member = &members[i];
        if (member->text && text_at(&copy, member)->len > 0)
            JW_STR(&w, member->name, *text_at(&copy, member));
        else if (!member->text && *number_at(&copy, member) != member->absent)
            JW_I64(&w, member->name, *number_at(&copy, member));
    }
    jw_obj_end(&w);
    return strbuf_view(&text);
}

void store_fact_parse(const json_t *detail, struct store_fact *ret)
{
    struct store_fact fact = {.type = jr_str(detail, "type"), .subtype = jr_str(detail, "subtype")};

    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        member_read(&fact, &members[i], detail, members[i].name);
    *ret = fact;
}

int store_fact_order(const struct store_fact *a, const struct store_fact *b)
{
    if (a->signed_ms != b->signed_ms)
        return a->signed_ms < b->signed_ms ? -1 : 1;
    if (fact_rank(a) != fact_rank(b))
        return fact_rank(a) - fact_rank(b);
    return str_cmp(a->event_id, b->event_id);
}

/* --- reading a stored notification --- */

static bool type_is_known(struct str type)
{
    static const char *const types[] = {
        "SUBSCRIBED",
        "DID_RENEW",
        "DID_CHANGE_RENEWAL_STATUS",
        "DID_CHANGE_RENEWAL_PREF",
        "OFFER_REDEEMED",
        "DID_FAIL_TO_RENEW",
        "GRACE_PERIOD_EXPIRED",
        "EXPIRED",
        "PRICE_INCREASE",
        "PRICE_CHANGE",
        "METADATA_UPDATE",
        "MIGRATION",
        "REFUND",
        "REFUND_REVERSED",
        "REFUND_DECLINED",
        "CONSUMPTION_REQUEST",
        "RENEWAL_EXTENDED",
        "RENEWAL_EXTENSION",
        "REVOKE",
        "ONE_TIME_CHARGE",
        "EXTERNAL_PURCHASE_TOKEN",
        "RESCIND_CONSENT",
        "TEST",
    };

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(type, types[i]))
            return true;
    return false;
}

static enum store_kind
store_fact_kind_of(const struct store_fact *fact, const json_t *transaction, const json_t *renewal)
{
    struct str type = jr_str(transaction, "type");

    if (!json_is_object(transaction))
        return json_is_object(renewal) ? STORE_KIND_SUBSCRIPTION : STORE_KIND_NONE;
    if (str_is(type, "Auto-Renewable Subscription"))
        return STORE_KIND_SUBSCRIPTION;
    if (str_is(type, "Consumable") || str_is(type, "Non-Consumable") ||
        str_is(type, "Non-Renewing Subscription") || str_is(fact->type, "ONE_TIME_CHARGE"))
        return STORE_KIND_PURCHASE;
    /* Unknown type: a transaction that renews or ends is a subscription. */
    return json_is_object(renewal) || fact->expires_ms != 0 || fact->status != 0
               ? STORE_KIND_SUBSCRIPTION
               : STORE_KIND_PURCHASE;
}

/* Returns the environment of a notification. An external purchase token has it in its id. */
static struct str environment_of(const json_t *notification)
{
    static const char *const parts[] = {"data", "summary", "appData"};
    const json_t *token = json_object_get(notification, "externalPurchaseToken");

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct str name = jr_str(json_object_get(notification, parts[i]), "environment");
        if (name.len > 0)
            return name;
    }
    return str_starts(jr_str(token, "externalPurchaseId"), STR("SANDBOX")) ? STR("Sandbox")
                                                                           : STR("Production");
}

int store_document_read(struct arena *arena, struct str text, struct store_document *ret)
{
    struct store_document document = {0};
    struct store_fact *fact = &document.fact;
    struct jr_error error;
    json_t *root;

    if (jr_parse(arena, text, &root, &error) != 0)
        return APPLY_MALFORMED;
    const json_t *notification = json_object_get(root, "notification");
    const json_t *transaction = json_object_get(root, "transaction");
    const json_t *renewal = json_object_get(root, "renewal");
    const json_t *const parts[] = {json_object_get(notification, "data"), transaction, renewal};

    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        member_read(fact, &members[i], parts[members[i].part], members[i].source);
    fact->type = jr_str(notification, "notificationType");
    fact->subtype = jr_str(notification, "subtype");
    fact->signed_ms = jr_i64(notification, "signedDate", 0);
    struct str uuid = jr_str(notification, "notificationUUID");
    if (fact->type.len == 0 || uuid.len == 0 || fact->signed_ms <= 0 ||
        fact->signed_ms > NUMBER_MAX)
        return APPLY_MALFORMED;
    document.environment = environment_of(notification);
    fact->event_id = arena_printf(arena, "%.*s:%.*s", STR_ARG(document.environment), STR_ARG(uuid));
    document.type_is_known = type_is_known(fact->type);
    document.kind = store_fact_kind_of(fact, transaction, renewal);
    document.original_id = jr_str(transaction, "originalTransactionId");
    if (document.original_id.len == 0)
        document.original_id = jr_str(renewal, "originalTransactionId");
    if (document.original_id.len > TEXT_BYTES_MAX)
        return APPLY_MALFORMED;
    if (document.kind == STORE_KIND_SUBSCRIPTION && document.original_id.len == 0)
        return APPLY_MALFORMED;
    if (document.kind == STORE_KIND_PURCHASE && fact->transaction_id.len == 0)
        return APPLY_MALFORMED;
    *ret = document;
    return 0;
}
