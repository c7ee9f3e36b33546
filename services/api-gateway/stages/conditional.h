#pragma once
/*
 * Conditional requests (RFC 9110 section 13) for all resources of the platform, from the route
 * table: a GET whose path is also a PUT's or a DELETE's carries a strong ETag over its
 * representation and knows If-None-Match; that PUT and DELETE know If-Match. Records and workflows
 * have versions and their own tags (areas/items/items.h).
 *
 * The tag is compared inside the transaction that writes: it begins by locking the resource, and
 * its representation is made from what the transaction sees. So of two writers with one tag one is
 * answered 412.
 */
#include "app.h"

/* co: the route's handler between the conditions of the request. */
AWAITS int conditional_run(struct req *r);
/* any: the first route of this path that `fits`; NULL = none. */
const struct route *conditional_beside(const struct route *route,
                                       bool (*fits)(const struct route *));
/* any: the headers that a route understands, conditions with them: bits of enum route_header. */
unsigned conditional_headers(const struct route *route);
/* any: whether the route's success carries an ETag. */
bool conditional_tagged(const struct route *route);
