#pragma once
/*
 * Conditional requests (RFC 9110 section 13) for all resources of the platform, from the route
 * table. A GET whose path also has a PUT or a DELETE sends a strong ETag of its representation and
 * accepts If-None-Match; that PUT and DELETE accept If-Match. Records and workflows have versions
 * and tags of their own (items/items.h).
 *
 * The tag is compared inside the transaction that writes. That transaction begins by locking the
 * resource and makes the representation from what it sees, so of two writers with the same tag one
 * gets 412.
 */
#include "app.h"

/* co: Checks the conditions of the request, runs the route's handler and adds the ETag to its
 * answer. */
AWAITS int conditional_run(struct req *r);
/* any: Returns the first project route with the path of `route` for which `fits` is true; NULL =
 * none. */
const struct route *route_with_same_path(const struct route *route,
                                         bool (*fits)(const struct route *));
/* any: Returns the headers that a route understands, conditions included, as bits of enum
 * route_header. */
unsigned conditional_headers(const struct route *route);
/* any: Returns whether a successful answer of the route carries an ETag. */
bool conditional_has_etag(const struct route *route);
