/* Applies the project's account at the processor to its settings. */
#include "payments/apply.h"

#include "apply_sql.h"
#include "base/clock.h"
#include "json/jr.h"
#include "json/jw.h"
#include "payments/apply_rows_private.h"

#define PATCH_BYTES_MAX (64U << 10)

/* The newest report wins. Of two events of one instant the event with the greater id wins. An
 * answer to our own call (no id) has milliseconds, so it is newer than the events of its second. */
static bool account_is_newer(const struct apply_source *source, const json_t *doc)
{
    int64_t at_ms;

    if (!clock_parse(jr_str(doc, "event_at"), &at_ms) || at_ms < source->at_ms)
        return true;
    return at_ms == source->at_ms && str_cmp(source->event_id, jr_str(doc, "event_id")) > 0;
}

static void account_member(struct jw *w, const char *name, struct str text)
{
    if (text.len > 0)
        JW_STR(w, name, text);
}

static struct str account_patch(struct apply_source *source, const struct account_object *account)
{
    struct strbuf out;
    struct jw w;

    strbuf_init(&out, source->task->arena, PATCH_BYTES_MAX);
    jw_init(&w, &out);
    jw_obj(&w);
    JW_STR(&w, "account", account->id);
    account_member(&w, "country", account->country);
    account_member(&w, "email", account->email);
    account_member(&w, "business_type", account->business_type);
    JW_BOOL(&w, "charges_enabled", account->charges_enabled);
    JW_BOOL(&w, "payouts_enabled", account->payouts_enabled);
    JW_BOOL(&w, "details_submitted", account->details_submitted);
    jw_lit(&w, "requirements");
    if (account->requirements != NULL)
        jw_json(&w, account->requirements);
    else
        jw_null(&w);
    jw_lit(&w, "event_at");
    jw_time(&w, source->at_ms);
    jw_lit(&w, "event_id");
    if (source->event_id.len > 0)
        jw_str(&w, source->event_id);
    else
        jw_null(&w);
    jw_obj_end(&w);
    return jw_is_complete(&w) ? strbuf_view(&out) : STR_NONE;
}

/* Returns whether the account is the project's. If the project's account is known, no other account
 * is. Otherwise it is an account that an answer to our own call names, or any account in mode
 * OWN. */
static bool account_is_ours(const struct apply_source *source,
                            const json_t *doc,
                            const struct account_object *account)
{
    struct str known = jr_str(doc, "account");

    if (known.len > 0)
        return str_eq(known, account->id);
    return source->event_id.len == 0 || str_is(jr_str(doc, "mode"), "own");
}

AWAITS static int account_apply(struct apply_source *source,
                                struct db *tx,
                                const struct account_object *account,
                                struct applied *applied)
{
    struct jr_error error;
    struct rows rows;
    json_t *doc;

    TRY(db_query(source->task, tx, SQL_APPLY_ACCOUNT_LOCK(), &rows));
    if (rows.count == 0 ||
        jr_parse_stored(
            source->task->arena, sql_apply_account_lock_row(&rows, 0).doc, &doc, &error) != 0)
        return APPLY_OTHER_PROJECT;
    if (!account_is_ours(source, doc, account))
        return APPLY_OTHER_PROJECT;
    applied->object = STR("account");
    if (!account_is_newer(source, doc)) {
        applied_set_effect(source, applied, "nothing: older than the stored state of the account");
        return 0;
    }
    struct str patch = account_patch(source, account);
    if (patch.ptr == NULL)
        return APPLY_MALFORMED;
    applied_add(source, applied, SQL_APPLY_ACCOUNT_PUT(.doc = patch));
    applied->touches_project = true;
    applied_set_effect(source,
                       applied,
                       "account: charges %s, payouts %s, details %s",
                       account->charges_enabled ? "enabled" : "disabled",
                       account->payouts_enabled ? "enabled" : "disabled",
                       account->details_submitted ? "submitted" : "missing");
    return 0;
}

int apply_account(struct apply_source *source,
                  struct db *tx,
                  const struct account_object *account,
                  struct applied *ret)
{
    *ret = (struct applied){.waits = false};
    TRY(account_apply(source, tx, account, ret));
    return applied_write(source, tx, ret);
}
