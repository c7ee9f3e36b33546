#pragma once
/* The text part of a mail that has HTML alone. */
#include "base/arena.h"
#include "base/str.h"

/* any: what a reader sees of it: paragraphs, items with "- ", links as "text (address)". Not a
 * browser: what is hidden by styles is shown. Arena-owned. */
struct str mail_plain_of_html(struct arena *arena, struct str html);
