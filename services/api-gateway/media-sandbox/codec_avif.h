#pragma once
/* Planes of brightness and colours as rows of RGBA, for formats that have such planes. */
#include <avif/avif.h>

#include "media-sandbox/scale.h"

/* The colours of a picture without a profile, by the numbers that it tells of them. */
void avif_read_primaries(const avifImage *image);
/* Gives all rows of `image`, which scale_begin() knows the size of. */
void avif_give_rows(const avifImage *image, struct scale *scale);
