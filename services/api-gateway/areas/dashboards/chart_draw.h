#pragma once
/*
 * Pictures of charts, drawn by cairo. A picture says nothing that its data do not say: texts become
 * outlines of letters, so an SVG holds no text, script or address of anybody. Any thread.
 */
#include "base/result.h"
#include "base/str.h"

/* Smallest and largest sides, in pixels. */
#define CHART_SIDE_MIN 100
#define CHART_SIDE_MAX 1600

struct chart_drawing {
    struct str title;
    struct str data; /* as GET /charts/{id}/data answers with */
    int width, height;
    bool svg; /* else PNG */
    bool dark;
    /* What has become of it. */
    char *bytes; /* owned: free(); NULL: it cannot be drawn */
    size_t count;
};

/* Parses and draws a struct chart_drawing; for work_run(). */
void chart_draw(void *arg);
/* Lets go of fonts, when nothing is being drawn any more. */
void chart_draw_forget(void);
