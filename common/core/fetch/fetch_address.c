/* Tables of addresses that must never be dialled. */
#include "fetch/fetch_address_private.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/result.h"

struct range4 {
    uint8_t prefix[4];
    unsigned bits;
};

static const struct range4 special4[] = {
    {{0, 0, 0, 0}, 8},       /* "this network", RFC 791 */
    {{10, 0, 0, 0}, 8},      /* private, RFC 1918 */
    {{100, 64, 0, 0}, 10},   /* shared by carrier NAT, RFC 6598 */
    {{127, 0, 0, 0}, 8},     /* loopback */
    {{169, 254, 0, 0}, 16},  /* link-local, cloud metadata, RFC 3927 */
    {{172, 16, 0, 0}, 12},   /* private */
    {{192, 0, 0, 0}, 24},    /* protocol assignments, RFC 6890 */
    {{192, 0, 2, 0}, 24},    /* documentation, RFC 5737 */
    {{192, 31, 196, 0}, 24}, /* AS112, RFC 7535 */
    {{192, 52, 193, 0}, 24}, /* AMT, RFC 7450 */
    {{192, 88, 99, 0}, 24},  /* 6to4 relays, RFC 7526 */
    {{192, 168, 0, 0}, 16},  /* private */
    {{192, 175, 48, 0}, 24}, /* AS112, RFC 7534 */
    {{198, 18, 0, 0}, 15},   /* benchmarking, RFC 2544 */
    {{198, 51, 100, 0}, 24}, /* documentation */
    {{203, 0, 113, 0}, 24},  /* documentation */
    {{224, 0, 0, 0}, 4},     /* multicast */
    {{240, 0, 0, 0}, 4},     /* reserved, broadcast */
};

struct range6 {
    uint8_t prefix[16];
    unsigned bits;
};

/* Only 2000::/3 is assigned to networks. This excludes ::, ::1, mapped, NAT64 (64:ff9b::/96,
 * 64:ff9b:1::/48), discard (100::/64), segment routing (5f00::/16), ULA (fc00::/7), link- and
 * site-local (fe80::/9) and multicast (ff00::/8). */
static const struct range6 global6 = {{0x20}, 3};

static const struct range6 special6[] = {
    {{0x20, 0x01, 0x00}, 23},             /* protocol assignments, Teredo, ORCHID, RFC 2928 */
    {{0x20, 0x01, 0x0d, 0xb8}, 32},       /* documentation, RFC 3849 */
    {{0x20, 0x02}, 16},                   /* 6to4, RFC 3056 */
    {{0x26, 0x20, 0, 0x4f, 0x80, 0}, 48}, /* AS112, RFC 7534 */
    {{0x3f, 0xfe}, 16},                   /* the former 6bone, RFC 3701 */
    {{0x3f, 0xff, 0x00}, 20},             /* documentation, RFC 9637 */
};

static bool address_in_range(const uint8_t *address, const uint8_t *prefix, unsigned bits)
{
    size_t whole = bits / 8;
    unsigned rest = bits % 8;
    if (memcmp(address, prefix, whole) != 0)
        return false;
    return rest == 0 || (address[whole] ^ prefix[whole]) >> (8 - rest) == 0;
}

static bool ipv4_is_public(const uint8_t address[4])
{
    for (size_t i = 0; i < ARRAY_LEN(special4); i++)
        if (address_in_range(address, special4[i].prefix, special4[i].bits))
            return false;
    return true;
}

static bool ipv6_is_public(const uint8_t address[16])
{
    if (!address_in_range(address, global6.prefix, global6.bits))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(special6); i++)
        if (address_in_range(address, special6[i].prefix, special6[i].bits))
            return false;
    return true;
}

bool fetch_address_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ipv4_is_public(
            (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr);
    if (address->sa_family == AF_INET6)
        return ipv6_is_public(
            ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr);
    return false;
}

bool fetch_address_text_is_public(const char *text)
{
    uint8_t bytes[16];
    if (inet_pton(AF_INET, text, bytes) == 1)
        return ipv4_is_public(bytes);
    return inet_pton(AF_INET6, text, bytes) == 1 && ipv6_is_public(bytes);
}
