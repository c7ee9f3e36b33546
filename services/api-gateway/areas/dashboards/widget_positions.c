/* Positions of widgets on a dashboard's grid. */
#include "areas/dashboards/dashboards.h"

static bool positions_overlap(const struct widget_position *one,
                              const struct widget_position *other)
{
    return one->x < other->x + other->width && other->x < one->x + one->width &&
           one->y < other->y + other->height && other->y < one->y + one->height;
}

bool widget_positions_overlap(const struct widget_position *places,
                              size_t count,
                              int64_t *ret_one,
                              int64_t *ret_other)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            if (!positions_overlap(&places[i], &places[k]))
                continue;
            *ret_one = places[i].id;
            *ret_other = places[k].id;
            return true;
        }
    }
    return false;
}

int64_t widget_positions_next_row(const struct widget_position *places, size_t count)
{
    int64_t below = 0;

    for (size_t i = 0; i < count; i++)
        if (places[i].y + places[i].height > below)
            below = places[i].y + places[i].height;
    return below;
}
