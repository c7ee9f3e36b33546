#pragma once
/*
 * Pictures of charts, drawn by cairo. A picture shows nothing that is not in the data. Texts become
 * outlines of letters, so that an SVG holds no third-party text, script or address. Any thread.
 */
#include "base/result.h"
#include "base/str.h"

/* Smallest and largest sides, in pixels. */
#define CHART_SIDE_MIN 100
#define CHART_SIDE_MAX 1600

struct chart_drawing {
    struct str title;
    struct str data; /* the response of GET /charts/{id}/data */
    int width, height;
    bool svg; /* else PNG */
    bool dark;
    /* Result. */
    char *bytes; /* the caller frees it with free(); NULL = drawing failed */
    size_t count;
};

/* Draws a picture; `arg` is a struct chart_drawing. For work_run(). */
void chart_draw(void *arg);
/* Releases cairo's and fontconfig's fonts. Must not run while a picture is being drawn. */
void chart_draw_release_fonts(void);
