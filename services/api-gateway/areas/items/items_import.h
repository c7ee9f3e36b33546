#pragma once
/* The work of POST .../items/import. */
#include "app.h"

/* co: reads the upload's part "file" and writes its records while it arrives; the task row says
 * how far it came. `format` is csv, json, jsonl, or empty: then the file's name and type decide. A
 * file of which nothing could be used is answered with its problem; otherwise 0 and the task. */
AWAITS int items_import_run(struct req *r,
                            const struct entity *entity,
                            struct str format,
                            int64_t *ret_task_id) MUSTCHECK;
