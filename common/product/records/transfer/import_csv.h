#pragma once
/* Rows of CSV, for import_split.c. */
#include "records/transfer/import_split.h"

/* co: the next bytes of the file; results as of import_split_feed(). */
AWAITS int import_csv_feed(struct import_split *split, struct str piece) MUSTCHECK;
/* co: the end of the file. */
AWAITS int import_csv_end(struct import_split *split) MUSTCHECK;
