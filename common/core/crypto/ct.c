/* Comparison of secrets. */
#include "crypto/ct.h"

#include <openssl/crypto.h>

bool ct_eq(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    return a.len == 0 || CRYPTO_memcmp(a.ptr, b.ptr, a.len) == 0;
}
