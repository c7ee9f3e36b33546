#pragma once
/* Statuses of rows (status.def): a text in the database, read once. */
#include "base/str.h"

enum status_kind { STATUS_OF_STEP, STATUS_OF_JOB, STATUS_OF_SEND, STATUS_OF_SUBSCRIPTION };
enum status {
    STATUS_NONE,
#define STATUS(kind, name, text) STATUS_##kind##_##name,
#include "catalog/status.def"
#undef STATUS
};

/* any: STATUS_NONE: no status of that kind. */
enum status status_read(enum status_kind kind, struct str text);
/* any: the text; STR_NONE for STATUS_NONE. */
struct str status_text(enum status status);
