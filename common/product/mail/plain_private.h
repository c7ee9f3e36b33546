#pragma once
/* The text part of a mail that has only HTML. */
#include "base/arena.h"
#include "base/str.h"

/* any: Returns the text that a reader of the HTML sees: paragraphs, items with "- ", links as "text
 * (address)". Styles are ignored: text that they hide is included. Arena-owned. */
struct str mail_plain_of_html(struct arena *arena, struct str html);
