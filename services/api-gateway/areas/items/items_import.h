#pragma once
/* The work of POST .../items/import. */
#include "app.h"

/* What the query says of it. */
struct items_import_config {
    struct str format;         /* csv, json, jsonl, or empty: the file's name and type decide */
    const struct query *query; /* mapping[column]=field, and the rest */
    int64_t resume;            /* the task to go on with; 0 = a new one */
};

/* co: reads the upload's part "file" and writes its records while it arrives; the task row says
 * how far it came. A file of which nothing could be used is answered with its problem; otherwise 0
 * and the task. */
AWAITS int items_import_run(struct req *r,
                            const struct entity *entity,
                            const struct items_import_config *in,
                            int64_t *ret_task_id) MUSTCHECK;
/* co: reads its first rows, takes back what they became, and answers what there is in them. */
AWAITS int items_import_try(struct req *r,
                            const struct entity *entity,
                            const struct items_import_config *in) MUSTCHECK;
