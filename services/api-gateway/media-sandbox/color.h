#pragma once
/* Colours of a picture's ICC profile become those of sRGB, by lcms2. A process makes one picture:
 * its profile is one for the process. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes what needs more than memory; before the process is confined. */
void color_prepare(void);
/* The profile that the picture holds, borrowed during the call. A profile that is broken, larger
 * than 4 MB, or of other pixels than the picture's (gray, or RGB) is ignored: pixels stay as they
 * are. */
void color_profile(const void *bytes, size_t count, bool is_gray);
/* Instead of a profile: x and y of red, green, blue and white, with the curve of sRGB. */
void color_primaries(const float at[8]);
/* Converts `count` pixels, RGBA and not premultiplied, in their place. */
void color_convert(uint8_t *rgba, size_t count);
