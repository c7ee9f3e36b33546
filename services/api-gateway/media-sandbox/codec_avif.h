#pragma once
/* Planes of brightness and colours as rows of RGBA, for formats that have such planes. */
#include <avif/avif.h>

#include "media-sandbox/scale.h"

/* Gives all rows of `image`, which scale_begin() knows the size of. */
void avif_give_rows(const avifImage *image, struct scale *scale);
