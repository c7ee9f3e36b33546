/* The hash slot of a command. */
#include "redis/slot_private.h"

#include <string.h>

#include "base/num.h"
#include "base/result.h"

/* CRC-16/XMODEM: polynomial 0x1021, not reflected, initial value 0. */
static uint16_t crc16(struct str text)
{
    uint32_t crc = 0;

    for (size_t i = 0; i < text.len; i++) {
        crc ^= (uint32_t)(uint8_t)text.ptr[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000) ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
    }
    return (uint16_t)crc;
}

uint16_t slot_of(struct str key)
{
    const char *open = key.len > 0 ? memchr(key.ptr, '{', key.len) : NULL;

    if (open) {
        const char *from = open + 1;
        const char *close = memchr(from, '}', key.len - (size_t)(from - key.ptr));
        if (close && close > from)
            key = (struct str){from, (size_t)(close - from)};
    }
    return crc16(key) % 16384;
}

/* The first key after the word STREAMS. */
static bool key_of_read(size_t argc, const struct str *argv, struct str *ret_key)
{
    for (size_t i = 1; i + 1 < argc; i++) {
        if (str_ieq(argv[i], STR("STREAMS"))) {
            *ret_key = argv[i + 1];
            return true;
        }
    }
    return false;
}

bool slot_key(size_t argc, const struct str *argv, struct str *ret_key)
{
    static const char *const keyless[] = {"PING",
                                          "PUBLISH",
                                          "CLIENT",
                                          "CLUSTER",
                                          "INFO",
                                          "CONFIG",
                                          "DBSIZE",
                                          "FLUSHALL",
                                          "SCRIPT",
                                          "TIME",
                                          "COMMAND",
                                          "WAIT",
                                          "ECHO",
                                          "DEBUG"};
    static const char *const second[] = {"XGROUP", "XINFO", "OBJECT", "MEMORY"};
    struct str name = argv[0];
    size_t at = 1;
    int64_t keys = 1;

    for (size_t i = 0; i < ARRAY_LEN(keyless); i++) {
        if (str_ieq(name, str_from(keyless[i])))
            return false;
    }
    if (str_ieq(name, STR("XREADGROUP")) || str_ieq(name, STR("XREAD")))
        return key_of_read(argc, argv, ret_key);
    for (size_t i = 0; i < ARRAY_LEN(second); i++) {
        if (str_ieq(name, str_from(second[i])))
            at = 2;
    }
    if (str_ieq(name, STR("EVAL")) || str_ieq(name, STR("EVALSHA"))) {
        if (argc < 3 || !num_parse_i64(argv[2], &keys))
            return false;
        at = 3;
    }
    if (keys < 1 || argc <= at)
        return false;
    *ret_key = argv[at];
    return true;
}
