/*
 * Decides whether the result of a tool may be sent to a model again in a later turn. The result is
 * sent unchanged, and only when the current caller, who may have fewer rights than the earlier one,
 * could get it now: the caller may read the entity and each field that the call names or shows,
 * none of them has changed since, and each record is visible to the caller. Results that this does
 * not decide (related records, groups under a row rule, search hits, descriptions) are sent again
 * to administrators only. For other callers the model calls the tool again, which costs no more
 * than a decision would.
 */
#include "areas/assistant/ai_tools_private.h"
#include "items/items.h"

#include <string.h>

#include "base/num.h"
#include "json/jr.h"
#include "records/pick.h"

/* A result to decide about. */
struct stored_result {
    const struct ai_tool_stored *stored;
    struct records_ctx *ctx;
    const struct entity *entity;
    const json_t *arguments;
    json_t *result;
};

/* --- names --- */

static bool field_is_readable(const struct stored_result *earlier, struct str name)
{
    const struct model_field *field = entity_field(earlier->entity, name);

    return field && records_can_read_field(earlier->ctx, field) &&
           (field->system || field->updated_ms <= earlier->stored->created_ms);
}

/* Whether all names, such as "-price,created_at:month", are fields that the caller may read. */
static bool names_are_readable(const struct stored_result *earlier, struct str names)
{
    while (names.ptr) {
        struct str name = str_trim(str_split(&names, ','));
        if (name.len > 0 && name.ptr[0] == '-')
            name = (struct str){name.ptr + 1, name.len - 1};
        const char *end = name.len > 0 ? memchr(name.ptr, ':', name.len) : NULL;
        if (end)
            name.len = (size_t)(end - name.ptr);
        if (name.len > 0 && !field_is_readable(earlier, name))
            return false;
    }
    return true;
}

static bool filter_is_readable(const struct stored_result *earlier, const struct query *query)
{
    struct records_filter filter = items_filter_read(earlier->ctx->task->arena, query);

    for (size_t i = 0; i < filter.item_count; i++)
        if (!field_is_readable(earlier, filter.items[i].field))
            return false;
    return true;
}

/* Whether the caller may read all fields that the call names. False for unknown parameters. */
static bool call_is_readable(const struct stored_result *earlier)
{
    static const char *const plain[] = {"limit", "page", "pageSize", "page_size", "order", "count"};
    static const char *const named[] = {"fields", "sort", "group_by", "sum", "avg", "min", "max"};
    struct str text = jr_str(earlier->arguments, "query");
    struct query query;
    const char *reason;

    if (query_parse(earlier->ctx->task->arena, text, &query, &reason) != 0)
        return false;
    for (size_t i = 0; i < query.count; i++) {
        const struct query_item *item = &query.items[i];
        bool known = str_is(item->name, "filter");
        for (size_t k = 0; k < ARRAY_LEN(plain) && !known; k++)
            known = str_is(item->name, plain[k]);
        for (size_t k = 0; k < ARRAY_LEN(named) && !known; k++)
            known = str_is(item->name, named[k]) && names_are_readable(earlier, item->value);
        if (!known)
            return false;
    }
    return filter_is_readable(earlier, &query);
}

/* --- records --- */

static bool
member_is_readable(const struct stored_result *earlier, const char *key, const json_t *value)
{
    struct str name = str_from(key);
    bool has_record = json_is_object(value) || json_is_object(json_array_get(value, 0));

    return field_is_readable(earlier, name) &&
           (!has_record || entity_field(earlier->entity, name)->type == TYPE_JSON);
}

/* Whether all members of the record are fields that the caller may read, none with a record in it.
 */
static bool members_are_readable(const struct stored_result *earlier, json_t *record)
{
    for (void *at = json_object_iter(record); at; at = json_object_iter_next(record, at))
        if (!member_is_readable(earlier, json_object_iter_key(at), json_object_iter_value(at)))
            return false;
    return json_is_object(record);
}

/* Whether the earlier caller saw more records than the result shows. Their number must not be sent
 * to a caller who sees fewer records. */
static bool result_had_more(const struct stored_result *earlier, size_t count)
{
    return jr_i64(earlier->result, "total_items", -1) > (int64_t)count;
}

/* co: Allows the result when each record is visible to the caller. */
AWAITS static int
records_decide_visible(struct stored_result *earlier, int64_t *ids, size_t count, bool *ret_may)
{
    const struct records_query query = {0};
    struct records_pick pick = {.ids = ids, .count = num_sort_unique(ids, count), .query = &query};
    int64_t there;

    if (count == 0 || !records_has_row_rule(earlier->ctx, earlier->entity)) {
        *ret_may = true;
        return 0;
    }
    if (result_had_more(earlier, count))
        return 0;
    TRY(records_pick_count(earlier->ctx, earlier->entity, &pick, &there));
    *ret_may = (size_t)there == pick.count;
    return 0;
}

/* co: Decides about a list or one record. */
AWAITS static int records_decide(struct stored_result *earlier, bool *ret_may)
{
    const json_t *items = json_object_get(earlier->result, "items");
    size_t count = json_is_array(items) ? json_array_size(items) : 1;
    int64_t *ids = ARENA_ARRAY(earlier->ctx->task->arena, ids, count + 1);

    for (size_t i = 0; i < count; i++) {
        json_t *record = json_is_array(items) ? json_array_get(items, i) : earlier->result;
        ids[i] = jr_i64(record, "id", 0);
        if (ids[i] == 0 || !members_are_readable(earlier, record))
            return 0;
    }
    return records_decide_visible(earlier, ids, count, ret_may);
}

/* co: Decides about a result of one entity. The members of groups are not fields, so groups depend
 * on the fields that the call names, and are not sent again under a row rule. */
AWAITS static int
entity_result_decide(struct stored_result *earlier, enum ai_tool_rule rule, bool *ret_may)
{
    struct str name = jr_str(earlier->arguments, "entity");

    earlier->entity = model_entity(earlier->ctx->model, name);
    if (!earlier->entity || earlier->entity->created_ms > earlier->stored->created_ms ||
        !caller_has_api_access(earlier->ctx->caller) ||
        !records_can_read(earlier->ctx, earlier->entity) || !call_is_readable(earlier))
        return 0;
    if (rule == AI_TOOL_RECORDS)
        return records_decide(earlier, ret_may);
    *ret_may = !records_has_row_rule(earlier->ctx, earlier->entity);
    return 0;
}

/* --- the decision --- */

/* Whether the result is {"error": {...}}, which shows no data. A record with a field named "error"
 * has an id, too. */
static bool is_refusal(const json_t *result)
{
    return json_object_size(result) == 1 && json_is_object(json_object_get(result, "error"));
}

int ai_tool_can_resend(struct req *r, const struct ai_tool_stored *stored, bool *ret_may)
{
    struct stored_result earlier = {.stored = stored, .ctx = items_ctx(r)};
    const struct caller *caller = r->scope->caller;
    enum ai_tool_rule rule;
    struct jr_error error;
    json_t *arguments;
    json_t *result;

    *ret_may = false;
    if (!ai_tool_rule_read(stored->tool, &rule) ||
        jr_parse_stored(r->task.arena, stored->text, &result, &error) != 0 ||
        jr_parse(r->task.arena, stored->arguments, &arguments, &error) != 0)
        return 0;
    earlier.arguments = arguments;
    earlier.result = result;
    if (is_refusal(result) || caller_is_admin(caller))
        *ret_may = true;
    else if (rule == AI_TOOL_WORKFLOWS)
        *ret_may = caller_has_api_access(caller) && caller_can(caller, PERM_SVC_WORKFLOWS_TRIGGER);
    else if (rule != AI_TOOL_OTHER) {
        int rc = entity_result_decide(&earlier, rule, ret_may);
        return rc == RECORDS_FAILED ? 0 : items_reply_error(r, earlier.ctx, rc);
    }
    return 0;
}
