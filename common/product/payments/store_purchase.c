/* Applies one-time purchases in the app store to payments. */
#include "payments/store_private.h"
#include "store_sql.h"

#define WHOLE_PERCENTAGE 100000 /* revocationPercentage is in thousandths of a percent */
enum { METADATA_BYTES_MAX = 4096 };

/* The purchase as its newest notification reports it. */
struct purchase {
    const char *status;
    int64_t amount_minor, refunded_minor;
    struct str currency;
};

static void
purchase_read(struct arena *arena, const struct store_fact *fact, struct purchase *ret_purchase)
{
    int64_t share = fact->revoked_percentage;
    bool taken_back = fact->revoked_ms != 0 || str_is(fact->type, "REFUND");

    ret_purchase->currency = store_currency(arena, fact->currency);
    ret_purchase->amount_minor = store_minor(fact->price_milli, fact->currency);
    ret_purchase->refunded_minor = 0;
    ret_purchase->status = "succeeded";
    if (str_is(fact->type, "REVOKE") || str_is(fact->revocation_type, "FAMILY_REVOKE")) {
        ret_purchase->status = "canceled"; /* family sharing ended: no money is returned */
    } else if (taken_back && !str_is(fact->type, "REFUND_REVERSED")) {
        bool part = str_is(fact->revocation_type, "REFUND_PRORATED") && share > 0 &&
                    share < WHOLE_PERCENTAGE;
        ret_purchase->status = part ? "partially_refunded" : "refunded";
        ret_purchase->refunded_minor = ret_purchase->amount_minor;
        if (part)
            ret_purchase->refunded_minor =
                (int64_t)((double)ret_purchase->amount_minor * (double)share / WHOLE_PERCENTAGE +
                          0.5);
    }
}

static struct str purchase_metadata(struct arena *arena, const struct store_document *document)
{
    const struct store_fact *fact = &document->fact;
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, arena, METADATA_BYTES_MAX);
    jw_init(&w, &text);
    jw_obj(&w);
    JW_STR(&w, "product_id", fact->product_id);
    JW_STR(&w, "original_transaction_id", document->original_id);
    if (fact->quantity)
        JW_I64(&w, "quantity", fact->quantity);
    if (fact->account_token.len > 0)
        JW_STR(&w, "app_account_token", fact->account_token);
    jw_obj_end(&w);
    return text.overflow ? STR("{}") : strbuf_view(&text);
}

/* When two notifications have the same millisecond, the higher rank of the status wins. */
static int status_rank(struct str status)
{
    static const char *const ranks[] = {
        "processing", "succeeded", "partially_refunded", "refunded", "canceled"};

    for (size_t i = 0; i < ARRAY_LEN(ranks); i++)
        if (str_is(status, ranks[i]))
            return (int)i;
    return 0;
}

AWAITS static int purchase_lock_row(struct apply_source *source,
                                    struct db *tx,
                                    const struct store_document *document,
                                    struct rows *ret_row)
{
    const struct sql *const steps[] = {
        &SQL_STORE_PURCHASE_LOCK, &SQL_STORE_PURCHASE_ADD, &SQL_STORE_PURCHASE_LOCK};

    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        TRY(db_query(
            source->task,
            tx,
            steps[i],
            SQL_STORE_PURCHASE_KEY_ARGS(.environment = document->environment,
                                        .store_transaction_id = document->fact.transaction_id),
            ret_row));
        if (ret_row->count > 0)
            return 0;
    }
    return 0;
}

int store_purchase_apply(struct apply_source *source,
                         struct db *tx,
                         const struct store_document *document,
                         struct applied *ret)
{
    const struct store_fact *fact = &document->fact;
    struct arena *arena = source->task->arena;
    int64_t user_id = store_account_user(fact->account_token);
    struct purchase purchase;
    struct rows rows;

    TRY(purchase_lock_row(source, tx, document, &rows));
    if (rows.count != 1) /* another transaction has deleted it: the next attempt creates it again */
        return DB_CONFLICT;
    const struct sql_store_purchase_lock_row row = sql_store_purchase_lock_row(&rows, 0);
    const int64_t id = row.id;
    bool is_new = row.event_at == 0;

    purchase_read(arena, fact, &purchase);
    ret->object = arena_printf(arena, "payment:%lld", (long long)id);
    if (!is_new && (fact->signed_ms < row.event_at ||
                    (fact->signed_ms == row.event_at &&
                     status_rank(str_from(purchase.status)) <= status_rank(row.status)))) {
        ret->effect = STR("nothing: not newer than the stored state");
        return 0;
    }
    TRY(db_query(source->task,
                 tx,
                 SQL_STORE_PURCHASE_SET(.id = id,
                                        .status = str_from(purchase.status),
                                        .amount_minor = purchase.amount_minor,
                                        .currency = purchase.currency,
                                        .amount_refunded_minor = purchase.refunded_minor,
                                        .description = fact->product_id,
                                        .user_id = some_id(user_id),
                                        .paid_at = fact->purchase_ms,
                                        .metadata = purchase_metadata(arena, document),
                                        .event_at = fact->signed_ms),
                 NULL));
    ret->effect =
        is_new ? arena_printf(arena, "payment %lld: created, %s", (long long)id, purchase.status)
               : arena_printf(arena,
                              "payment %lld: %.*s -> %s",
                              (long long)id,
                              STR_ARG(row.status),
                              purchase.status);
    return 0;
}
