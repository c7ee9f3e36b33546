#pragma once
/*
 * Texts as cells of CSV. Spreadsheets run cells that begin like a formula, so an export puts an
 * apostrophe before these, and before those that begin as such a cell is written; an import takes
 * one away from each of them. So each text comes back as it was. Pure, any thread.
 */
#include "base/str.h"

/* Whether an export puts an apostrophe before the text, and an import takes one from its begin: any
 * number of apostrophes and then =, +, -, @, a tab or a line end. */
bool cell_is_guarded(struct str text);
/* The text of a cell that an export has guarded; other texts as they are. */
struct str cell_unguarded(struct str cell);
