/* Statuses of rows, generated from status.def. */
#include "catalog/status.h"

#include <stddef.h>

#include "base/result.h"

static const struct {
    enum status_kind kind;
    struct str text;
} statuses[] = {
#define STATUS(of, name, its_text)                                                                 \
    [STATUS_##of##_##name] = {STATUS_OF_##of, {its_text, sizeof(its_text) - 1}},
#include "catalog/status.def"
#undef STATUS
};

enum status status_read(enum status_kind kind, struct str text)
{
    for (size_t i = STATUS_NONE + 1; i < ARRAY_LEN(statuses); i++)
        if (statuses[i].kind == kind && str_eq(statuses[i].text, text))
            return (enum status)i;
    return STATUS_NONE;
}

struct str status_text(enum status status)
{
    return statuses[status].text;
}
