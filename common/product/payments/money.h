#pragma once
/*
 * Amounts of money. The API uses decimal numbers (12.5 USD), tables and the processor use integers
 * in minor units (1250). Decimals of a currency, as the processor counts them:
 * - none: BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF
 * - two, whole units only: ISK UGX (5 -> 500)
 * - three, the last one 0: BHD IQD JOD KWD LYD OMR TND
 * - two: all others
 * Amounts are converted through the text of the number, never through binary fractions. Any thread.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct json_t;
struct jw;

#define MONEY_MINOR_MAX 99999999 /* largest amount that the processor accepts */

/* Returns the text of a MONEY_* result for the "message" of a field, such as "must not be
 * negative". Static. */
const char *money_message(int result);

/* Returns how many decimals a currency has: 0, 2 or 3. */
int money_decimals(struct str currency);
/* Checks an ISO 4217 code in any case and returns it in lower case, arena-owned. 0 or
 * MONEY_BAD_CURRENCY. */
int money_currency(struct arena *arena, struct str text, struct str *ret_currency) MUSTCHECK;
/* Converts decimal text as in JSON ("12.50", also "1e2") to minor units. 0 or a MONEY_*. */
int money_parse(struct str text, struct str currency, int64_t *ret_minor) MUSTCHECK;
/* Converts a JSON number, or a string that holds one, to minor units through its exact text
 * (jr_number()). 0 or a MONEY_*. */
int money_from_json(const struct json_t *value, struct str currency, int64_t *ret_minor) MUSTCHECK;
/* Converts minor units to decimal text without needless zeros: 1250 usd -> "12.5". Arena-owned. */
struct str money_text(struct arena *arena, int64_t minor, struct str currency);
/* Writes the members "<name>": 12.5 and "<name>_minor": 1250. */
void money_json(struct jw *w, const char *name, int64_t minor, struct str currency);
