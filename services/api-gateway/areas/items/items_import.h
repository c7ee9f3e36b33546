#pragma once
/* The implementation of POST .../items/import. */
#include "app.h"

/* The query parameters of an import. */
struct items_import_config {
    struct str format;         /* csv, json, jsonl, or empty: the file's name and type decide */
    const struct query *query; /* for mode, on_conflict, mapping and the CSV style */
    int64_t resume;            /* the task to resume; 0 = a new task */
};

/* co: Reads the part "file" of the upload and writes its records while the file arrives. The task
 * row has the progress. Returns 0 with *ret_task_id, also when the import stopped after some rows
 * were imported. Else returns a negative or the HTTP status of the error response that was set. */
AWAITS int items_import_run(struct req *r,
                            const struct entity *entity,
                            const struct items_import_config *in,
                            int64_t *ret_task_id) MUSTCHECK;
/* co: Dry run: imports the first rows of the file, rolls the rows back, and responds with a preview
 * of the import. Returns the HTTP status of the response, or a negative. */
AWAITS int items_import_preview(struct req *r,
                                const struct entity *entity,
                                const struct items_import_config *in) MUSTCHECK;
