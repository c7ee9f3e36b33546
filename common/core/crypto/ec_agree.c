/* Key agreement by OpenSSL's group arithmetic, which takes the same time for any secret number. */
#include "crypto/ec_agree.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>
#include <pthread.h>

#include "base/panic.h"
#include "crypto/ossl_private.h"

static pthread_once_t group_once = PTHREAD_ONCE_INIT;
static const EC_GROUP *p256;

static void group_make(void)
{
    p256 = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    ossl_must(p256 != NULL, "P-256");
}

/* The numbers and points of one agreement. */
struct agreement {
    BN_CTX *ctx;
    EC_POINT *peer_point, *point;
    BIGNUM *number, *x;
};

static struct agreement agreement_new(void)
{
    MUST(pthread_once(&group_once, group_make) == 0);
    ossl_errors_clear();
    const struct agreement made = {
        .ctx = BN_CTX_new(),
        .peer_point = EC_POINT_new(p256),
        .point = EC_POINT_new(p256),
        .number = BN_new(),
        .x = BN_new(),
    };
    ossl_must(made.ctx != NULL && made.peer_point != NULL && made.point != NULL &&
                  made.number != NULL && made.x != NULL,
              "agreement");
    BN_set_flags(made.number, BN_FLG_CONSTTIME);
    return made;
}

static void agreement_free(const struct agreement *agreement)
{
    BN_clear_free(agreement->x);
    BN_clear_free(agreement->number);
    EC_POINT_clear_free(agreement->point);
    EC_POINT_free(agreement->peer_point);
    BN_CTX_free(agreement->ctx);
}

/* OpenSSL checks that the point is on the curve. The point at infinity has another length. */
static bool agreement_peer_read(const struct agreement *agreement, struct str peer)
{
    return peer.len == EC_POINT_BYTES && peer.ptr[0] == POINT_CONVERSION_UNCOMPRESSED &&
           EC_POINT_oct2point(p256,
                              agreement->peer_point,
                              (const unsigned char *)peer.ptr,
                              peer.len,
                              agreement->ctx) == 1;
}

static void agreement_pair_generate(const struct agreement *agreement,
                                    uint8_t ret_point[EC_POINT_BYTES])
{
    do
        ossl_must(BN_priv_rand_range(agreement->number, EC_GROUP_get0_order(p256)), "number");
    while (BN_is_zero(agreement->number));
    ossl_must(EC_POINT_mul(p256, agreement->point, agreement->number, NULL, NULL, agreement->ctx),
              "own point");
    MUST(EC_POINT_point2oct(p256,
                            agreement->point,
                            POINT_CONVERSION_UNCOMPRESSED,
                            ret_point,
                            EC_POINT_BYTES,
                            agreement->ctx) == EC_POINT_BYTES);
}

bool ec_point_is_valid(struct str point)
{
    const struct agreement agreement = agreement_new();
    bool ok = agreement_peer_read(&agreement, point);

    agreement_free(&agreement);
    return ok;
}

int ec_agree(struct str peer,
             uint8_t ret_point[EC_POINT_BYTES],
             uint8_t ret_secret[EC_COORDINATE_BYTES])
{
    const struct agreement agreement = agreement_new();
    const struct agreement *at = &agreement;
    bool ok = agreement_peer_read(at, peer);

    if (ok) {
        agreement_pair_generate(at, ret_point);
        ossl_must(EC_POINT_mul(p256, at->point, NULL, at->peer_point, at->number, at->ctx),
                  "agreement");
        ossl_must(EC_POINT_get_affine_coordinates(p256, at->point, at->x, NULL, at->ctx),
                  "agreed point");
        MUST(BN_bn2binpad(at->x, ret_secret, EC_COORDINATE_BYTES) == EC_COORDINATE_BYTES);
    }
    agreement_free(at);
    return ok ? 0 : EC_KEY_BAD;
}
