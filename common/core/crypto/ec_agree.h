#pragma once
/*
 * Key agreement on P-256 with a key pair for one message only. OpenSSL's keys (ec.h) create the
 * curve for each key. Here the curve is created once, so an agreement takes a third of that time.
 * Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"
#include "crypto/ec.h"

/* Returns whether the bytes are an uncompressed point (EC_POINT_BYTES) of the curve. */
bool ec_point_is_valid(struct str point);

/* Makes a key pair and agrees with the holder of `peer`, an uncompressed point. Writes the pair's
 * public point and the x coordinate that both sides compute, which is secret: wipe it after use.
 * Returns 0, or EC_KEY_BAD when `peer` is not a point of the curve. */
int ec_agree(struct str peer,
             uint8_t ret_point[EC_POINT_BYTES],
             uint8_t ret_secret[EC_COORDINATE_BYTES]) MUSTCHECK;
