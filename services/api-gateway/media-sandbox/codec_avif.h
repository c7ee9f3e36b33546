#pragma once
/* Converts planes of luma and chroma to rows of RGBA, for AVIF and HEIC. */
#include <avif/avif.h>

#include "media-sandbox/scale.h"

/* Sets the source colours of a picture without an ICC profile by the primaries that its header
 * names. Keeps sRGB for other primaries and for HDR transfer functions. */
void avif_read_primaries(const avifImage *image);
/* Passes all rows of `image` to `scale`; the caller has called scale_begin() with its size. */
void avif_scale_rows(const avifImage *image, struct scale *scale);
