/* Applies notifications of the app store to subscriptions. */
#include <stdlib.h>

#include "json/jr.h"
#include "payments/store.h"
#include "payments/store_private.h"
#include "store_sql.h"

enum { METADATA_BYTES_MAX = 8192 };

/* A row of history with its fact. */
struct history_entry {
    int64_t id; /* 0: not stored yet */
    struct str from, to;
    struct store_fact fact;
};

/* One notification that is applied to one subscription. */
struct store_application {
    struct apply_source *source;
    struct db *tx;
    struct arena *arena;
    const struct store_document *document;
    int64_t id;
    bool is_new;
    struct str old_status, old_word;
    struct history_entry *entries; /* in the order of store_fact_order() */
    size_t count;
    struct history_entry *added_entry; /* this notification's entry; NULL: it was applied before */
    struct store_state state;
};

static struct str store_text_or_null(struct str text)
{
    return text.len > 0 ? text : STR_NONE;
}

/* Locks the row until the transaction ends; creates it if there is none. */
AWAITS static int store_lock_row(struct store_application *a, struct rows *ret_row)
{
    const struct store_document *document = a->document;
    struct task *task = a->source->task;

    TRY(db_query(task,
                 a->tx,
                 SQL_STORE_SUBSCRIPTION_LOCK(.provider_subscription_id = document->original_id),
                 ret_row));
    if (ret_row->count > 0)
        return 0;
    TRY(db_query(task,
                 a->tx,
                 SQL_STORE_SUBSCRIPTION_ADD(.provider_subscription_id = document->original_id,
                                            .environment = document->environment),
                 NULL));
    return db_query(task,
                    a->tx,
                    SQL_STORE_SUBSCRIPTION_LOCK(.provider_subscription_id = document->original_id),
                    ret_row);
}

/* --- history --- */

static int entry_order(const void *a, const void *b)
{
    const struct history_entry *one = a;
    const struct history_entry *two = b;

    return store_fact_order(&one->fact, &two->fact);
}

static void
entry_read(struct arena *arena, const struct rows *rows, size_t row, struct history_entry *entry)
{
    const struct sql_store_history_row from = sql_store_history_row(rows, row);
    struct jr_error error;
    json_t *detail = NULL;

    if (jr_parse_stored(arena, from.detail, &detail, &error) != 0)
        detail = NULL; /* the entry then has an empty fact */
    store_fact_parse(detail, &entry->fact);
    entry->id = from.id;
    entry->from = from.from_status;
    entry->to = from.to_status;
    entry->fact.event_id = from.event_id;
    entry->fact.signed_ms = from.at;
}

/* Reads all known facts and adds this notification's, in order. */
AWAITS static int history_read(struct store_application *a)
{
    const struct store_fact *fact = &a->document->fact;
    struct rows rows;

    TRY(db_query(a->source->task, a->tx, SQL_STORE_HISTORY(.subscription_id = a->id), &rows));
    a->entries = ARENA_ARRAY(a->arena, a->entries, rows.count + 1);
    for (size_t i = 0; i < rows.count; i++)
        entry_read(a->arena, &rows, i, &a->entries[i]);
    a->count = rows.count;
    bool known = false;
    for (size_t i = 0; i < rows.count; i++)
        known = known || str_eq(a->entries[i].fact.event_id, fact->event_id);
    if (!known)
        a->entries[a->count++].fact = *fact;
    qsort(a->entries, a->count, sizeof(*a->entries), entry_order);
    for (size_t i = 0; i < a->count; i++)
        if (a->entries[i].id == 0)
            a->added_entry = &a->entries[i];
    return 0;
}

/* Replays all facts from the beginning. A new fact gets a row, and rows whose statuses have changed
 * are updated. `calls` has space for all entries and one more call. */
static size_t history_replay(struct store_application *a, struct db_call *calls)
{
    struct str from = STR_NONE;
    size_t count = 0;

    for (size_t i = 0; i < a->count; i++) {
        struct history_entry *entry = &a->entries[i];
        store_state_add(&a->state, &entry->fact);
        struct str to = str_from(store_state_status(&a->state));
        if (entry->id == 0)
            calls[count++] = db_call_new(
                a->arena,
                SQL_STORE_HISTORY_ADD(.subscription_id = a->id,
                                      .at = entry->fact.signed_ms,
                                      .event_id = entry->fact.event_id,
                                      .from_status = store_text_or_null(from),
                                      .to_status = to,
                                      .detail = store_fact_print(a->arena, &entry->fact)));
        else if (!str_eq(entry->from, from) || !str_eq(entry->to, to))
            calls[count++] =
                db_call_new(a->arena,
                            SQL_STORE_HISTORY_SET(.id = entry->id,
                                                  .from_status = store_text_or_null(from),
                                                  .to_status = to));
        from = to;
    }
    return count;
}

/* --- the row --- */

static void store_member(struct jw *w, const char *name, struct str text)
{
    if (text.len > 0) {
        jw_lit(w, name);
        jw_str(w, text);
    }
}

static struct str store_metadata(struct store_application *a)
{
    const struct store_state *state = &a->state;
    struct strbuf text;
    struct jw w;

    strbuf_init(&text, a->arena, METADATA_BYTES_MAX);
    jw_init(&w, &text);
    jw_obj(&w);
    store_member(&w, "app_account_token", state->account_token);
    if (!str_eq(state->next_product_id, state->product_id))
        store_member(&w, "next_product_id", state->next_product_id);
    store_member(&w, "offer_id", state->offer_id);
    store_member(&w, "ownership", state->ownership);
    if (state->expiration_intent)
        JW_I64(&w, "expiration_intent", state->expiration_intent);
    jw_obj_end(&w);
    return text.overflow ? STR("{}") : strbuf_view(&text);
}

/* Returns store_status, which holds what the API's statuses do not distinguish. */
static struct str store_status_of(const struct store_state *state)
{
    struct str word = str_from(state->store_status);

    return str_is(word, "active") ? STR_NONE : word;
}

static struct db_call subscription_set_call(struct store_application *a)
{
    const struct store_state *state = &a->state;
    int64_t user_id = store_account_user(state->account_token);
    struct str currency = state->currency;

    return db_call_new(
        a->arena,
        SQL_STORE_SUBSCRIPTION_SET(.id = a->id,
                                   .status = str_from(store_state_status(state)),
                                   .store_status = store_text_or_null(store_status_of(state)),
                                   .store_product_id = store_text_or_null(state->product_id),
                                   .store_transaction_id =
                                       store_text_or_null(state->transaction_id),
                                   .user_id = some_id(user_id),
                                   .current_period_start = state->starts_ms,
                                   .current_period_end = store_state_end(state),
                                   .trial_end = state->trial_end_ms,
                                   .trial_length_days = state->trial_days,
                                   .grace_end = state->grace_ms,
                                   .cancel_at_period_end =
                                       state->renewal_is_off && state->ended_ms == 0,
                                   .canceled_at = state->canceled_ms,
                                   .ended_at = state->ended_ms,
                                   .amount_minor =
                                       currency.len > 0
                                           ? some_i64(store_minor(state->price_milli, currency))
                                           : NO_I64,
                                   .currency = currency.len > 0 ? store_currency(a->arena, currency)
                                                                : STR_NONE,
                                   .metadata = store_metadata(a),
                                   .event_at = a->entries[a->count - 1].fact.signed_ms));
}

static struct str effect_text(struct store_application *a, bool late)
{
    struct str word = str_from(a->state.store_status);
    struct str status = str_from(store_state_status(&a->state));
    const long long id = (long long)a->id;

    if (!a->added_entry)
        return STR("nothing: the notification was applied before");
    if (a->is_new)
        return arena_printf(a->arena,
                            "subscription %lld: created, %.*s (%.*s)",
                            id,
                            STR_ARG(status),
                            STR_ARG(word));
    if (!str_eq(a->old_status, status) || !str_eq(a->old_word, store_status_of(&a->state)))
        return arena_printf(a->arena,
                            "subscription %lld: %.*s -> %.*s (%.*s)",
                            id,
                            STR_ARG(a->old_status),
                            STR_ARG(status),
                            STR_ARG(word));
    return late ? STR("history only: older than the stored state")
                : arena_printf(a->arena,
                               "subscription %lld: still %.*s (%.*s)",
                               id,
                               STR_ARG(status),
                               STR_ARG(word));
}

AWAITS static int apply_subscription_info(struct store_application *a, struct applied *ret)
{
    struct rows rows;

    TRY(store_lock_row(a, &rows));
    if (rows.count != 1) /* another transaction has deleted it: the next attempt creates it again */
        return DB_CONFLICT;
    const struct sql_store_subscription_lock_row row = sql_store_subscription_lock_row(&rows, 0);
    a->id = row.id;
    a->is_new = row.event_at == 0;
    a->old_status = row.status;
    a->old_word = row.store_status;
    ret->object = arena_printf(a->arena, "subscription:%lld", (long long)a->id);
    if (!str_eq(row.environment, a->document->environment)) {
        ret->effect = STR("nothing: the subscription belongs to another environment");
        return 0;
    }
    TRY(history_read(a));
    struct db_call *calls = ARENA_ARRAY(a->arena, calls, a->count + 1);
    size_t count = history_replay(a, calls);
    calls[count++] = subscription_set_call(a);
    TRY(db_batch(a->source->task, a->tx, calls, count, NULL));
    ret->effect = effect_text(a, a->added_entry != &a->entries[a->count - 1]);
    return 0;
}

int store_apply(struct apply_source *source,
                struct db *tx,
                struct str document,
                struct applied *ret)
{
    struct arena *arena = source->task->arena;
    struct store_document read;
    struct applied done = {0};
    int rc = store_document_read(arena, document, &read);

    if (rc != 0)
        return rc;
    if (!read.type_is_known) {
        ret->effect =
            arena_printf(arena, "nothing: the type %.*s is not supported", STR_ARG(read.fact.type));
        return APPLY_UNSUPPORTED;
    }
    struct store_application *a = ARENA_NEW(arena, a);
    *a = (struct store_application){.source = source, .tx = tx, .arena = arena, .document = &read};
    switch (read.kind) {
    case STORE_KIND_SUBSCRIPTION:
        rc = apply_subscription_info(a, &done);
        break;
    case STORE_KIND_PURCHASE:
        rc = store_purchase_apply(source, tx, &read, &done);
        break;
    case STORE_KIND_NONE:
        done.effect =
            arena_printf(arena, "recorded: %.*s is not about a purchase", STR_ARG(read.fact.type));
        break;
    }
    if (rc == 0)
        *ret = done;
    return rc;
}
