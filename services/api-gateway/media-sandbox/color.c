/* The rendering intent is perceptual. A profile of a camera or a screen (Adobe RGB, Display P3) has
 * one matrix for all intents. A profile with tables has perceptual tables made for photographs:
 * colours outside of sRGB stay distinct, whereas the relative intent maps them to the same colour.
 */
#include "media-sandbox/color.h"

#include <lcms2.h>
#include <stdlib.h>

#define COLOR_PROFILE_BYTES (4U << 20) /* room for printers' tables; a screen's takes 1 KB */
#define GRAYS               256

static cmsHPROFILE srgb;
static cmsHTRANSFORM of_rgb;
static uint8_t (*of_gray)[3]; /* RGB of each of the GRAYS values */

void color_init(void)
{
    srgb =
        cmsCreate_sRGBProfile(); /* lcms2 reads the local time, and thereby the time zone's file */
}

static cmsHTRANSFORM color_transform(cmsHPROFILE profile, cmsUInt32Number from, cmsUInt32Number to)
{
    return cmsCreateTransform(profile, from, srgb, to, INTENT_PERCEPTUAL, cmsFLAGS_COPY_ALPHA);
}

static void color_make_grays(cmsHPROFILE profile)
{
    cmsHTRANSFORM transform = color_transform(profile, TYPE_GRAY_8, TYPE_RGB_8);
    uint8_t ramp[GRAYS];

    if (!transform || !(of_gray = malloc(sizeof(*of_gray) * GRAYS)))
        return;
    for (int i = 0; i < GRAYS; i++)
        ramp[i] = (uint8_t)i;
    cmsDoTransform(transform, ramp, of_gray, GRAYS);
    cmsDeleteTransform(transform);
}

void color_set_profile(const void *bytes, size_t count, bool is_gray)
{
    cmsHPROFILE profile = count <= COLOR_PROFILE_BYTES && srgb
                              ? cmsOpenProfileFromMem(bytes, (cmsUInt32Number)count)
                              : NULL;

    if (!profile)
        return;
    if (!is_gray && cmsGetColorSpace(profile) == cmsSigRgbData)
        of_rgb = color_transform(profile, TYPE_RGBA_8, TYPE_RGBA_8);
    else if (is_gray && cmsGetColorSpace(profile) == cmsSigGrayData)
        color_make_grays(profile);
    cmsCloseProfile(profile);
}

void color_set_primaries(const float at[8])
{
    const cmsCIExyYTRIPLE primaries = {
        .Red = {at[0], at[1], 1},
        .Green = {at[2], at[3], 1},
        .Blue = {at[4], at[5], 1},
    };
    const cmsCIExyY white = {at[6], at[7], 1};
    const cmsFloat64Number parameters[] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
    cmsToneCurve *curve = cmsBuildParametricToneCurve(NULL, 4, parameters);
    cmsToneCurve *curves[] = {curve, curve, curve};
    cmsHPROFILE profile = curve ? cmsCreateRGBProfile(&white, &primaries, curves) : NULL;

    if (profile)
        of_rgb = color_transform(profile, TYPE_RGBA_8, TYPE_RGBA_8);
    cmsCloseProfile(profile);
    cmsFreeToneCurve(curve);
}

void color_convert(uint8_t *rgba, size_t count)
{
    if (of_rgb)
        cmsDoTransform(of_rgb, rgba, rgba, (cmsUInt32Number)count);
    for (; of_gray && count > 0; count--, rgba += 4)
        for (int i = 0; i < 3; i++)
            rgba[i] = of_gray[rgba[i]][i];
}
