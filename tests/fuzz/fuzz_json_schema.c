/*
 * Body schemas: a schema with every type and limit decodes any body without invalid memory access,
 * a body without findings is within all limits, and the findings name the errors.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/panic.h"
#include "base/result.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "json/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct line {
    struct in_str sku;
    struct in_i64 amount;
};
struct order {
    struct in_str name, email, slug, url, at, day, uri, status;
    struct in_i64 count, wide;
    struct in_f64 price;
    struct in_bool paid;
    struct in_json any, map;
    struct in_ids ids;
    struct in_strs tags;
    struct in_list lines;
    struct in_obj address;
    struct in_obj raw;
};

static const char *const statuses[] = {"open", "paid", NULL};

static const struct field line_fields[] = {
    {.name = "sku", FIELD_AT(struct line, sku), .type = FIELD_STR, .required = true, .max = 8},
    {.name = "amount",
     FIELD_AT(struct line, amount),
     .type = FIELD_I64,
     .has_min = true,
     .min = 1,
     .has_max = true,
     .max = 99},
};
static const struct schema line_schema = SCHEMA("Line", struct line, line_fields);
static const struct field raw_field = {.type = FIELD_MAP};
static const struct schema raw_schema = {.name = "Raw", .value = &raw_field};

static const struct field order_fields[] = {
    {.name = "name",
     FIELD_AT(struct order, name),
     .type = FIELD_STR,
     .required = true,
     .min = 2,
     .max = 10},
    {.name = "email", FIELD_AT(struct order, email), .type = FIELD_STR, .format = "email"},
    {.name = "slug", FIELD_AT(struct order, slug), .type = FIELD_STR, .format = "slug"},
    {.name = "url", FIELD_AT(struct order, url), .type = FIELD_STR, .format = "url"},
    {.name = "uri", FIELD_AT(struct order, uri), .type = FIELD_STR, .format = "uri"},
    {.name = "day", FIELD_AT(struct order, day), .type = FIELD_STR, .format = "date"},
    {.name = "at", FIELD_AT(struct order, at), .type = FIELD_TIME, .nullable = true},
    {.name = "status", FIELD_AT(struct order, status), .type = FIELD_STR, .values = statuses},
    {.name = "count",
     FIELD_AT(struct order, count),
     .type = FIELD_I64,
     .has_min = true,
     .min = -5,
     .has_max = true,
     .max = 5},
    {.name = "wide", FIELD_AT(struct order, wide), .type = FIELD_I64, .nullable = true},
    {.name = "price",
     FIELD_AT(struct order, price),
     .type = FIELD_F64,
     .has_min = true,
     .min = 0,
     .nullable = true},
    {.name = "paid", FIELD_AT(struct order, paid), .type = FIELD_BOOL},
    {.name = "any", FIELD_AT(struct order, any), .type = FIELD_JSON},
    {.name = "map", FIELD_AT(struct order, map), .type = FIELD_MAP, .nullable = true},
    {.name = "ids", FIELD_AT(struct order, ids), .type = FIELD_IDS, .min = 1, .max = 3},
    {.name = "tags", FIELD_AT(struct order, tags), .type = FIELD_STRS, .max = 3},
    {.name = "lines",
     FIELD_AT(struct order, lines),
     .type = FIELD_LIST,
     .sub = &line_schema,
     .max = 4},
    {.name = "address", FIELD_AT(struct order, address), .type = FIELD_OBJ, .sub = &line_schema},
    {.name = "raw", FIELD_AT(struct order, raw), .type = FIELD_OBJ, .sub = &raw_schema},
};
static const struct schema order_schema = SCHEMA("Order", struct order, order_fields);
static const struct schema open_schema = {
    .name = "Open",
    .fields = order_fields,
    .count = ARRAY_LEN(order_fields),
    .struct_bytes = sizeof(struct order),
    .allows_unknown = true,
};

static bool is_in(struct str text, const char *const *values)
{
    for (; *values; values++) {
        if (str_is(text, *values))
            return true;
    }
    return false;
}

static void check_format(const struct in_str *in, const char *format)
{
    MUST(!in->set || in->null || schema_format_ok(format, in->value));
}

static void check_lines(const struct in_list *lines)
{
    const struct line *items = lines->items;

    MUST(lines->count <= 4);
    for (size_t i = 0; i < lines->count; i++) {
        MUST(items[i].sku.set && !items[i].sku.null && utf8_length(items[i].sku.value) <= 8);
        MUST(!items[i].amount.set || (items[i].amount.value >= 1 && items[i].amount.value <= 99));
    }
}

static volatile uint64_t touched; /* all decoded bytes can be read */

static void check_lists(const struct order *order)
{
    MUST(!order->ids.set || (order->ids.count >= 1 && order->ids.count <= 3));
    MUST(order->tags.count <= 3);
    for (size_t i = 0; i < order->ids.count; i++)
        touched += (uint64_t)order->ids.items[i];
    for (size_t i = 0; i < order->tags.count; i++)
        touched += str_hash(order->tags.items[i]);
    check_lines(&order->lines);
    if (order->address.set) {
        const struct line *address = order->address.value;
        MUST(!order->address.null && address && address->sku.set);
    }
    if (order->raw.set)
        MUST(json_is_object((const json_t *)order->raw.value));
}

static void check_limits(const struct order *order)
{
    MUST(order->name.set && !order->name.null);
    MUST(utf8_length(order->name.value) >= 2 && utf8_length(order->name.value) <= 10);
    check_format(&order->email, "email");
    check_format(&order->slug, "slug");
    check_format(&order->url, "url");
    check_format(&order->uri, "uri");
    check_format(&order->day, "date");
    check_format(&order->at, "date-time");
    MUST(!order->status.set || (!order->status.null && is_in(order->status.value, statuses)));
    MUST(!order->count.set ||
         (!order->count.null && order->count.value >= -5 && order->count.value <= 5));
    MUST(!order->price.set || order->price.null ||
         (isfinite(order->price.value) && order->price.value >= 0));
    MUST(!order->paid.null);
    MUST(!order->map.set || order->map.null || json_is_object(order->map.value));
    check_lists(order);
}

static void decode(struct arena *arena, const struct schema *schema, const json_t *body)
{
    struct schema_errors errors = {.count = 0};
    struct order order;
    bool right = schema_decode(arena, schema, body, &order, &errors);

    MUST(right == (errors.count == 0));
    for (size_t i = 0; i < errors.count && i < ARRAY_LEN(errors.items); i++) {
        MUST(errors.items[i].code && errors.items[i].message.len);
        MUST(utf8_valid(errors.items[i].field) && utf8_valid(errors.items[i].message));
    }
    if (right)
        check_limits(&order);
}

static void check_formats(struct str text)
{
    static const char *const formats[] = {
        "email", "slug", "name", "url", "password", "date", "date-time", "uri", "other"};

    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        (void)schema_format_ok(formats[i], text);
}

/* The schema's own document is always valid JSON. */
static void check_document(struct arena *arena, const struct schema *schema)
{
    struct jr_error error;
    struct strbuf out;
    struct jw w;
    json_t *root;

    strbuf_init(&out, arena, 65536);
    jw_init(&w, &out);
    schema_openapi(&w, schema);
    MUST(jw_is_complete(&w));
    MUST(jr_parse(arena, strbuf_view(&out), &root, &error) == 0);
    MUST(json_is_object(root));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool documented;
    struct arena *arena = arena_new(0);
    struct str text = {(const char *)data, size};
    struct jr_error error;
    json_t *body;

    if (!documented) {
        check_document(arena, &order_schema);
        documented = true;
    }
    if (utf8_valid(text))
        check_formats(text);
    if (jr_parse(arena, text, &body, &error) == 0) {
        decode(arena, &order_schema, body);
        decode(arena, &open_schema, body);
    }
    arena_free(arena);
    return 0;
}
