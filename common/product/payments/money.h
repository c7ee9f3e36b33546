#pragma once
/*
 * Amounts. The API speaks decimal numbers (12.5 USD), tables and the processor integers in minor
 * units (1250). How many decimals a currency has, as the processor counts:
 * - none: BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF
 * - two, whole units only: ISK UGX (5 -> 500)
 * - three, the last one 0: BHD IQD JOD KWD LYD OMR TND
 * - two: all others
 * Conversion is on the text of the number: never through binary fractions. Any thread.
 */
#include <stdint.h>

#include "base/arena.h"
#include "base/result.h"
#include "base/str.h"

struct json_t;
struct jw;

#define MONEY_MINOR_MAX 99999999 /* largest amount that the processor takes */

/* For the "message" of a field: "has more decimals than usd allows". */
const char *money_message(int result);

/* 0, 2 or 3. */
int money_decimals(struct str currency);
/* A code of ISO 4217 in any case -> lower case, arena-owned. 0 or MONEY_BAD_CURRENCY. */
int money_currency(struct arena *arena, struct str text, struct str *ret_currency) MUSTCHECK;
/* Decimal text as in JSON ("12.50", "1e2" too) -> minor units. 0 or a MONEY_*. */
int money_parse(struct str text, struct str currency, int64_t *ret_minor) MUSTCHECK;
/* A JSON number (or a string holding one) -> minor units, by the shortest text that gives the
 * double back. */
int money_from_json(const struct json_t *value, struct str currency, int64_t *ret_minor) MUSTCHECK;
/* Minor units -> decimal text without needless zeros: 1250 usd -> "12.5"; arena-owned. */
struct str money_text(struct arena *arena, int64_t minor, struct str currency);
/* Members "<name>": 12.5, "<name>_minor": 1250. */
void money_json(struct jw *w, const char *name, int64_t minor, struct str currency);
