#pragma once
/*
 * Key agreement on P-256 with a key pair that is made for one message. OpenSSL's keys (ec.h) make
 * the curve anew for each: here it is made once, a third of the time. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/result.h"
#include "base/str.h"
#include "crypto/ec.h"

/* Is it an uncompressed point (EC_POINT_BYTES) of the curve? */
bool ec_point_ok(struct str point);

/* A new pair's point, and the x coordinate that it and the holder of `peer` arrive at. Secret: wipe
 * it after use. 0 or EC_KEY_BAD. */
int ec_agree(struct str peer,
             uint8_t ret_point[EC_POINT_BYTES],
             uint8_t ret_secret[EC_COORDINATE_BYTES]) MUSTCHECK;
