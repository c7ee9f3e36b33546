#pragma once
/* Converts pixels from a picture's ICC profile to sRGB, by lcms2. A process makes only one variant,
 * so the profile is a global of the process. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Creates the sRGB profile; call once before the process is confined, because lcms2 reads a file.
 */
void color_init(void);
/* Sets the picture's profile: `count` bytes, borrowed during the call. A profile that is malformed,
 * larger than 4 MB, or for another kind of pixels (gray or RGB) than the picture's is ignored:
 * pixels are not converted then. */
void color_set_profile(const void *bytes, size_t count, bool is_gray);
/* Sets the source colours without a profile: x and y of red, green, blue and white, with the
 * transfer curve of sRGB. */
void color_set_primaries(const float at[8]);
/* Converts `count` pixels, RGBA and not premultiplied, in place. */
void color_convert(uint8_t *rgba, size_t count);
