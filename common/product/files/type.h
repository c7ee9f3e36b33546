#pragma once
/* What bytes are, whatever their sender calls them. */
#include <stdbool.h>

#include "base/str.h"

#define TYPE_HEAD_BYTES 65536U /* of a file that are looked at */

/* Any thread but the loop's: up to some milliseconds (libmagic). Writes "application/pdf", at worst
 * "application/octet-stream", never parameters. */
void type_detect(struct str head, char *ret_type, size_t bytes);
/* any: the type of a file with a name. Text has none of its own that programs tell apart: its name
 * says whether it is CSS, JavaScript, CSV or Markdown. All else is what its bytes are; borrows. */
struct str type_named(struct str mime_type, struct str name);
/* any: image, video, audio, text, document, archive, other: what storage is told by. */
const char *type_kind(struct str mime_type);
/* any: may a browser show it inside a page of ours? Raster images alone: anything else may run
 * scripts in our name, or is shown by plug-ins that might. */
bool type_is_inline(struct str mime_type);
/* any: can variants be made of it? Those are shown, also where the file itself is not. */
bool type_has_variants(struct str mime_type);
