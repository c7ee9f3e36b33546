#pragma once
/* Files that were built before the daemon started: the console and the viewer of the documents. */
#include "app.h"

/* A folder of such files. Only files with a known extension are sent; neither hidden files nor
 * symbolic links. */
struct static_folder {
    struct str path;    /* "" = not configured: no file is found */
    const char *policy; /* the Content-Security-Policy of each answer */
    const char *page;   /* name of the page, such as index.html */
};

/* any: Returns the Cache-Control of a file of services/console. The names of the files in assets/
 * contain a hash of their bytes. */
const char *static_cache_of(struct str name);
/* co: Answers with the file `name`, a path below the folder. Chooses the smallest form that the
 * folder has and the client accepts: <name>.br, <name>.gz or the file itself. Returns the status of
 * the answer; 0, without an answer, when there is no such file; or a negative error. */
AWAITS int static_file_send(struct req *r,
                            const struct static_folder *folder,
                            struct str name,
                            const char *cache) MUSTCHECK;
/* co: Answers with the page of the folder. Without this file, answers with the page `missing`,
 * which no cache stores. Returns the status of the answer, or a negative error. */
AWAITS int static_page_send(struct req *r,
                            const struct static_folder *folder,
                            const char *cache,
                            const char *missing) MUSTCHECK;
