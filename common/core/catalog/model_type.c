/* Table of field types, generated from model_type.def. */
#include "catalog/model_type.h"

#include "base/panic.h"
#include "base/secret_mask.h"

/* --- conversions of texts: each "%s" is the column --- */

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
#define NOT_A_NUMBER      "%s !~ '^-?[0-9]{1,200}(\\.[0-9]{1,80})?([eE][-+]?[0-9]{1,2})?$'"
#define NOT_A_TIME_OF_DAY "%s !~ '^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,6})?)?$'"
#define NOT_A_UUID        "%s !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'"
#define NOT_A_BOOL        "lower(%s) not in ('true', 'false', '1', '0')"
#define DATETIME_TEXT     "to_char(%s at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"

/* --- the table --- */

static const struct model_type_info model_types[TYPE_COUNT] = {
#define MODEL_TYPE(constant, text, ...) [constant] = {.name = text, __VA_ARGS__},
#include "catalog/model_type.def"
};

const char *const model_type_names[TYPE_COUNT + 1] = {
#define MODEL_TYPE(constant, text, ...) [constant] = text,
#include "catalog/model_type.def"
};

const struct model_type_info *model_type_info(enum model_type type)
{
    MUST(type < TYPE_COUNT);
    return &model_types[type];
}

enum model_type model_type_find(struct str name)
{
    size_t type = 0;

    while (type < TYPE_COUNT && !str_is(name, model_types[type].name))
        type++;
    return (enum model_type)type;
}
