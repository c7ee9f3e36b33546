#pragma once
/* The media type of bytes, detected from the bytes and not taken from the client. */
#include <stdbool.h>

#include "base/str.h"

#define TYPE_HEAD_BYTES 65536U /* of the beginning of a file that are examined */

/* any, blocks: Detects a type from the first bytes of a file; takes up to some milliseconds
 * (libmagic), so never call it on the loop. Writes a type without parameters, such as
 * "application/pdf", or "application/octet-stream" if it is unknown. `bytes`: size of ret_type. */
void type_detect(struct str head, char *ret_type, size_t bytes);
/* any: Refines a detected type by the file's name. The bytes of texts do not show reliably whether
 * they are CSS, JavaScript, CSV or Markdown, so the name's ending decides. Other types are returned
 * as they are. Static, or borrowed from `mime_type`. */
struct str type_refine(struct str mime_type, struct str name);
/* any: Returns the kind for reports of storage: image, video, audio, text, document, archive or
 * other. Static. */
const char *type_kind(struct str mime_type);
/* any: Returns whether a browser may show the file inside of our pages. Only raster images: other
 * types may run scripts with our origin, or are shown by plug-ins that might. */
bool type_is_inline(struct str mime_type);
/* any: Returns whether pictures in other sizes can be made of the file. Such a variant may be shown
 * inline even if the file itself may not. */
bool type_has_variants(struct str mime_type);
