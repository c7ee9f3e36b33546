#pragma once
/* Names that files and folders are given by people and programs. */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

#define FILE_NAME_BYTES 255U

/* any: what is kept of a name that was sent with an upload: its last segment, whichever way the
 * sender's system writes paths, without control characters and those that turn the direction of
 * text around ("gpj.exe" shown as "exe.jpg"), valid UTF-8, at most FILE_NAME_BYTES with its ending
 * intact. "file" when nothing is left. Arena-owned. */
struct str file_name_clean(struct arena *arena, struct str sent);
/* any: `wished`, which a link names, as the name to save a file by: cleaned, with the ending of the
 * file's `own` name, because the ending chooses the program that opens the file; `own` itself when
 * `own` has no ending and `wished` has one. Arena-owned, or `own`. */
struct str file_name_save_as(struct arena *arena, struct str wished, struct str own);
/* any: is it one already? For names that are chosen, not sent along. */
bool file_name_ok(struct arena *arena, struct str name);
/* any: the name in what clients of tus tell of a file, "filename d29ybGQucGRm,is_confidential": of
 * all of it this alone is used; "file" without one. False: it is malformed. */
bool file_name_in(struct arena *arena, struct str metadata, struct str *ret_name);
