#pragma once
/* Storefronts: countries of the app store, by ISO 3166-1. Any thread. */
#include "base/str.h"

/* any: Returns the alpha-3 code, in capitals, of an alpha-2 or alpha-3 code in any case. Static
 * text; STR_NONE when there is no such country. */
struct str storefront_find(struct str code);
