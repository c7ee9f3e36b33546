/* Maps a SQLSTATE to a result of db/, and finds the constraint that a message names. */
#include <string.h>

#include "base/ascii.h"
#include "db/conn_private.h"
#include "db/db.h"
#include "db/sqlstate_private.h"

struct state_rule {
    const char *prefix; /* whole state or its first characters; the first match counts */
    int result;
};

static const struct state_rule rules[] = {
    {"23505", DB_UNIQUE},      {"23P01", DB_UNIQUE},      {"23503", DB_FOREIGN_KEY},
    {"23001", DB_FOREIGN_KEY}, {"23502", DB_NOT_NULL},    {"23514", DB_CHECK},
    {"22", DB_CHECK},          {"40001", DB_CONFLICT},    {"40P01", DB_CONFLICT},
    {"55P03", DB_LOCKED},      {"57014", DB_TIMEOUT},     {"57P", DB_UNAVAILABLE},
    {"08", DB_UNAVAILABLE},    {"25P03", DB_UNAVAILABLE}, /* idle_in_transaction_session_timeout */
    {"25006", DB_UNAVAILABLE},                            /* the server became a standby */
    {"53300", DB_UNAVAILABLE}, {"53400", DB_UNAVAILABLE}, {"53", DB_FULL},
    {"58030", DB_FULL},        {"0A000", DB_SCHEMA},      {"26000", DB_SCHEMA},
    {"3F000", DB_SCHEMA},      {"42P01", DB_SCHEMA},      {"42703", DB_SCHEMA},
    {"42P07", DB_SCHEMA},      {"42701", DB_SCHEMA},      {"42704", DB_SCHEMA},
    {"42710", DB_SCHEMA},      {"42804", DB_SCHEMA},      {"42846", DB_SCHEMA},
    {"42883", DB_SCHEMA},      {"42P10", DB_SCHEMA},
};

int sqlstate_result(const char *sqlstate)
{
    if (!sqlstate || !sqlstate[0])
        return DB_UNAVAILABLE;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (strncmp(sqlstate, rules[i].prefix, strlen(rules[i].prefix)) == 0)
            return rules[i].result;
    return DB_FAILED;
}

static bool sqlstate_is_word(char c)
{
    return ascii_is(c, ASCII_ALNUM) || c == '_';
}

/* Length of a u_<id>, fk_<id> or ck_<id> that `text` begins with, 0 = none. */
static size_t token_len(const char *text)
{
    static const char *const prefixes[] = {"u_", "fk_", "ck_"};

    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        size_t len = strlen(prefixes[i]);
        if (strncmp(text, prefixes[i], len) != 0)
            continue;
        size_t digits = ascii_span(str_from(text + len), ASCII_DIGIT);
        if (digits > 0 && !sqlstate_is_word(text[len + digits]))
            return len + digits;
    }
    return 0;
}

struct str sqlstate_constraint(const char *message)
{
    for (const char *at = message; at && *at; at++) {
        if (at != message && sqlstate_is_word(at[-1]))
            continue;
        size_t len = token_len(at);
        if (len > 0)
            return (struct str){at, len};
    }
    return STR_NONE;
}
