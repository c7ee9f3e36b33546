#pragma once
/* Statuses of rows (status.def). The database has a text, the code a constant. */
#include "base/str.h"

enum status_kind { STATUS_OF_STEP, STATUS_OF_JOB, STATUS_OF_SEND, STATUS_OF_SUBSCRIPTION };
enum status {
    STATUS_NONE,
#define STATUS(kind, name, text) STATUS_##kind##_##name,
#include "catalog/status.def"
#undef STATUS
};

/* any: Returns the status of this kind with this text, STATUS_NONE when there is none. */
enum status status_read(enum status_kind kind, struct str text);
/* any: Returns the text of a status, STR_NONE for STATUS_NONE. */
struct str status_text(enum status status);
