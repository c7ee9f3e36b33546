/*
 * Conversions between types, and which values do not convert. The `refuse` condition checks the
 * text of a value before anything is cast, so that no row can make the conversion itself fail.
 */
#include "ddl/ddl.h"

#define DAY "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
#define TIME                                                                                       \
    "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?([Zz]|[+-](0[0-9]|1[0-4]):[0-5][0-9]" \
    ")"
/* True for a day that the month does not have; evaluated only if the text has the form of a date.
 */
#define NO_SUCH_DAY                                                                                \
    "substr(%s, 9, 2)::int > extract(day from make_date(substr(%s, 1, 4)::int, "                   \
    "substr(%s, 6, 2)::int, 1) + interval '1 month' - interval '1 day')"
#define NOT_A_DAY "case when %s ~ '^(?!0000)" DAY "$' then " NO_SUCH_DAY " else true end"
#define NOT_A_TIME                                                                                 \
    "case when %s ~ '^(?!0000)" DAY "[Tt ]" TIME "$' then " NO_SUCH_DAY " else true end"
#define NOT_AN_INTEGER                                                                             \
    "case when %s ~ '^-?[0-9]{1,30}$' then %s::numeric not between -9223372036854775808 and "      \
    "9223372036854775807 else true end"
/* Short enough that neither overflow nor underflow can happen. */
#define NOT_A_NUMBER "%s !~ '^-?[0-9]{1,200}(\\.[0-9]{1,80})?([eE][-+]?[0-9]{1,2})?$'"
#define NOT_A_BOOL   "lower(%s) not in ('true', 'false', '1', '0')"
/* Integers that a double cannot hold exactly. */
#define INEXACT "abs(%s::numeric) > 9007199254740992"

#define TO_TEXT(from, using)                                                                       \
    {from, TYPE_VARCHAR, using, NULL},                                                             \
    {                                                                                              \
        from, TYPE_TEXT, using, NULL                                                               \
    }
#define FROM_TEXT(from)                                                                            \
    {from, TYPE_INTEGER, "%s::bigint", NOT_AN_INTEGER},                                            \
        {from, TYPE_FLOAT, "%s::double precision", NOT_A_NUMBER},                                  \
        {from, TYPE_DECIMAL, "%s::numeric", NOT_A_NUMBER},                                         \
        {from, TYPE_BOOL, "lower(%s) in ('true', '1')", NOT_A_BOOL},                               \
        {from, TYPE_DATE, "%s::date", NOT_A_DAY},                                                  \
        {from, TYPE_DATETIME, "%s::timestamptz", NOT_A_TIME},                                      \
    {                                                                                              \
        from, TYPE_ENUM, "%s", NULL                                                                \
    }

static const struct ddl_conversion conversions[] = {
    {TYPE_INTEGER, TYPE_FLOAT, "%s::double precision", INEXACT},
    {TYPE_INTEGER, TYPE_DECIMAL, "%s::numeric", NULL},
    {TYPE_FLOAT, TYPE_DECIMAL, "%s::text::numeric", NULL},
    {TYPE_VARCHAR, TYPE_TEXT, "%s", NULL},
    {TYPE_TEXT, TYPE_VARCHAR, "%s", NULL},
    TO_TEXT(TYPE_ENUM, "%s"),
    TO_TEXT(TYPE_INTEGER, "%s::text"),
    TO_TEXT(TYPE_FLOAT, "%s::text"),
    TO_TEXT(TYPE_DECIMAL, "%s::text"),
    TO_TEXT(TYPE_BOOL, "%s::text"),
    TO_TEXT(TYPE_DATE, "to_char(%s, 'YYYY-MM-DD')"),
    TO_TEXT(TYPE_DATETIME, "to_char(%s at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"),
    {TYPE_JSON, TYPE_TEXT, "%s::text", NULL},
    FROM_TEXT(TYPE_VARCHAR),
    FROM_TEXT(TYPE_TEXT),
};

const struct ddl_conversion *ddl_conversion_find(enum model_type from, enum model_type to)
{
    for (size_t i = 0; i < ARRAY_LEN(conversions); i++) {
        if (conversions[i].from == from && conversions[i].to == to)
            return &conversions[i];
    }
    return NULL;
}

const char *ddl_conversion_text(struct arena *arena, const char *pattern, struct str column)
{
    struct strbuf out;

    strbuf_init(&out, arena, 4096);
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 's') {
            strbuf_str(&out, column);
            pattern++;
        } else {
            strbuf_char(&out, *pattern);
        }
    }
    return strbuf_cstring(&out);
}
