#pragma once
/* Names of files and folders that users and clients choose. */
#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

#define FILE_NAME_BYTES 255U

/* any: Cleans a name that a client sent with an upload. The result is the last segment of a path
 * with / or \, without control characters and characters that reverse the direction of text
 * ("gpj.exe" would be shown as "exe.jpg"). It is valid UTF-8 and has at most FILE_NAME_BYTES, with
 * its ending intact. "file" when nothing is left. Arena-owned or static. */
struct str file_name_clean(struct arena *arena, struct str sent);
/* any: Returns the name to save a file by when a link asks for the name `wished`. The result is the
 * cleaned name with the ending of the file's `own` name, because the ending selects the program
 * that opens the file; `own` itself when `own` has no ending and `wished` has one. Arena-owned, or
 * `own`. */
struct str file_name_save_as(struct arena *arena, struct str wished, struct str own);
/* any: Returns whether file_name_clean() would not change the name. For names that a user chooses
 * and that are refused rather than cleaned. */
bool file_name_is_clean(struct arena *arena, struct str name);
/* any: Reads the file name from the value of the header Upload-Metadata of tus, such as "filename
 * d29ybGQucGRm,is_confidential", and cleans it. When the value has no file name, the name is
 * "file". Other keys are ignored. Returns false when the value is malformed. *ret_name is
 * arena-owned or static. */
bool file_name_of_metadata(struct arena *arena, struct str metadata, struct str *ret_name);
