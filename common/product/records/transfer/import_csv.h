#pragma once
/* Splits CSV into rows, for import_split.c. */
#include "records/transfer/import_split.h"

/* co: Splits the next bytes of the file. Results as of import_split_feed(). */
AWAITS int import_csv_feed(struct import_split *split, struct str chunk) MUSTCHECK;
/* co: Ends the file and passes on its last row. Results as of import_split_feed(). */
AWAITS int import_csv_end(struct import_split *split) MUSTCHECK;
