/* Refunds: the refunded sum follows the charge, down as well as up. */
#include "payments/apply_refund_private.h"

#include "json/jr.h"

#define CHARGE      "charge" /* member next to the refunds: what the charge showed last */
#define SECOND_MS   1000
#define REFUNDS_MAX 100 /* refunds that are stored one by one */

static int64_t refund_number(const json_t *object, const char *member)
{
    return json_integer_value(json_object_get(object, member));
}

static json_t *refunds_read(struct arena *arena, const struct payment_row *row)
{
    json_t *refunds = NULL;
    struct jr_error error;

    if (jr_parse_stored(arena, row->refunds.len ? row->refunds : STR("{}"), &refunds, &error) != 0)
        return NULL;
    return refunds;
}

/* --- the sum of the charge --- */

static bool refund_is_newer(const json_t *known, const struct payment_facts *facts)
{
    int64_t at_ms = refund_number(known, "at");
    bool was_read = json_is_true(json_object_get(known, "read"));
    bool is_read = facts->event_id.len == 0;

    if (at_ms / SECOND_MS != facts->seen_ms / SECOND_MS)
        return at_ms / SECOND_MS < facts->seen_ms / SECOND_MS;
    if (was_read != is_read)
        return is_read;
    return is_read && at_ms != facts->seen_ms
               ? at_ms < facts->seen_ms
               : refund_number(known, "amount") < facts->refunded_minor;
}

static bool charge_update(json_t *refunds, const struct payment_facts *facts)
{
    const json_t *known = json_object_get(refunds, CHARGE);

    if (!facts->has_refunded || (known != NULL && !refund_is_newer(known, facts)))
        return false;
    json_t *charge = json_object();
    json_object_set_new(charge, "at", json_integer(facts->seen_ms));
    json_object_set_new(charge, "amount", json_integer(facts->refunded_minor));
    json_object_set_new(charge, "read", json_boolean(facts->event_id.len == 0));
    json_object_set_new(refunds, CHARGE, charge);
    return true;
}

/* --- one refund --- */

/* Stores one refund. "failed": when the failure was first reported; 0 = it did not fail. */
static bool refund_update(struct arena *arena, json_t *refunds, const struct payment_facts *facts)
{
    if (facts->refund_id.len == 0)
        return false;
    const char *id = arena_cstr(arena, facts->refund_id);
    const json_t *known = json_object_get(refunds, id);
    int64_t failed_ms = refund_number(known, "failed");
    int64_t amount_minor = refund_number(known, "amount");
    bool moved = known == NULL;

    if (known == NULL && json_object_size(refunds) > REFUNDS_MAX)
        return false;
    if (facts->refund_failed && (failed_ms == 0 || facts->seen_ms < failed_ms))
        moved |= set_number(&failed_ms, facts->seen_ms);
    if (facts->refund_minor > amount_minor)
        moved |= set_number(&amount_minor, facts->refund_minor);
    if (!moved)
        return false;
    json_t *refund = json_object();
    json_object_set_new(refund, "amount", json_integer(amount_minor));
    json_object_set_new(refund, "failed", json_integer(failed_ms));
    json_object_set_new(refunds, id, refund);
    return true;
}

/* Returns whether the stored sum of the charge still contains the refund that failed later. */
static bool refund_failed_after_charge(const json_t *refund, const json_t *charge)
{
    int64_t failed_second = refund_number(refund, "failed") / SECOND_MS;
    int64_t charge_second = refund_number(charge, "at") / SECOND_MS;

    return json_is_true(json_object_get(charge, "read")) ? failed_second > charge_second
                                                         : failed_second >= charge_second;
}

static int64_t refunds_sum(json_t *refunds)
{
    const json_t *charge = json_object_get(refunds, CHARGE);
    int64_t sum_minor = refund_number(charge, "amount");
    int64_t least_minor = 0;
    const char *id;
    json_t *refund;

    json_object_foreach(refunds, id, refund)
    {
        if (strcmp(id, CHARGE) == 0)
            continue;
        if (refund_number(refund, "failed") == 0)
            least_minor += refund_number(refund, "amount");
        else if (refund_failed_after_charge(refund, charge))
            sum_minor -= refund_number(refund, "amount");
    }
    return sum_minor > least_minor ? sum_minor : least_minor;
}

bool refunds_update(struct arena *arena, struct payment_row *row, const struct payment_facts *facts)
{
    json_t *refunds;

    if ((!facts->has_refunded && facts->refund_id.len == 0) ||
        (refunds = refunds_read(arena, row)) == NULL)
        return false;
    /* A sum from before refunds were stored one by one is the oldest of all. */
    if (json_object_size(refunds) == 0 && row->amount_refunded_minor > 0) {
        json_t *charge = json_object();
        json_object_set_new(charge, "at", json_integer(0));
        json_object_set_new(charge, "amount", json_integer(row->amount_refunded_minor));
        json_object_set_new(refunds, CHARGE, charge);
    }
    bool moved = charge_update(refunds, facts);
    moved |= refund_update(arena, refunds, facts);
    if (!moved)
        return false;
    row->refunds = jr_print(arena, refunds);
    (void)set_number(&row->amount_refunded_minor, refunds_sum(refunds));
    return true;
}

bool refunds_in_doubt(struct arena *arena,
                      const struct payment_row *row,
                      const struct payment_facts *facts)
{
    int64_t second = facts->seen_ms / SECOND_MS;
    json_t *refunds;
    const char *id;
    json_t *known;

    if ((!facts->has_refunded && facts->refund_id.len == 0) || facts->seen_ms == 0 ||
        facts->event_id.len == 0 || (refunds = refunds_read(arena, row)) == NULL)
        return false;
    json_object_foreach(refunds, id, known)
    {
        bool is_charge = strcmp(id, CHARGE) == 0;
        int64_t known_ms = refund_number(known, is_charge ? "at" : "failed");
        if (known_ms / SECOND_MS != second)
            continue;
        if (facts->has_refunded &&
            (!is_charge || refund_number(known, "amount") != facts->refunded_minor))
            return true;
        if (is_charge && facts->refund_failed &&
            refund_number(json_object_get(refunds, arena_cstr(arena, facts->refund_id)),
                          "failed") == 0)
            return true;
    }
    return false;
}
