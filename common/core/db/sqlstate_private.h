#pragma once
/* Meaning of SQLSTATEs and of messages. */
#include "base/str.h"

/* The DB_* of a SQLSTATE; NULL (the connection broke) is DB_UNAVAILABLE. */
int sqlstate_result(const char *sqlstate);
/* The first u_<id>, fk_<id> or ck_<id> in a message, borrowed; STR_NONE when there is none. */
struct str sqlstate_constraint(const char *message);
