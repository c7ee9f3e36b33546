#include "search/varint_private.h"

unsigned char *varint_put(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

const unsigned char *
varint_get(const unsigned char *at, const unsigned char *end, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; at < end && shift < 63; shift += 7) {
        unsigned char byte = *at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return byte == 0 && shift > 0 ? NULL : at;
        }
    }
    return NULL;
}
