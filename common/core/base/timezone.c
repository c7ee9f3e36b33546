/* Zones from TZif files (RFC 9636). Each file is read once. */
#include "base/timezone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup_private.h"
#include "base/map.h"
#include "base/timezone_private.h"

#define ZONEINFO     "/usr/share/zoneinfo/"
#define HEADER_BYTES 44
#define OFFSET_MAX_S ((int64_t)26 * 3600)

struct timezone_rules {
    struct arena *arena; /* owns the rules */
    int64_t *times;      /* ascending: when types[i] begins */
    uint8_t *types;
    size_t count;
    int32_t *offsets; /* by type; type 0 applies before the first change */
    size_t type_count;
    bool has_footer;
    struct posix_rules footer; /* applies after the last change */
};

static int32_t utc_offsets[1];
static const struct timezone_rules utc = {.offsets = utc_offsets, .type_count = 1};

/* --- reading --- */

struct tzif_header {
    uint8_t version;
    size_t isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt;
};

static uint64_t big_endian(const char *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | (uint8_t)at[i];
    return value;
}

static struct str timezone_cut(struct str *rest, size_t len)
{
    struct str part = {rest->ptr, len};
    rest->ptr += len;
    rest->len -= len;
    return part;
}

/* Cuts the header off. Returns false when the bytes are not a header or a count exceeds the size of
 * a file. */
static bool take_header(struct str *rest, struct tzif_header *ret)
{
    size_t counts[6];

    if (rest->len < HEADER_BYTES || memcmp(rest->ptr, "TZif", 4) != 0)
        return false;
    struct str head = timezone_cut(rest, HEADER_BYTES);
    for (size_t i = 0; i < 6; i++) {
        counts[i] = (size_t)big_endian(head.ptr + 20 + i * 4, 4);
        if (counts[i] > TZIF_MAX_BYTES)
            return false;
    }
    *ret = (struct tzif_header){
        .version = (uint8_t)head.ptr[4],
        .isutcnt = counts[0],
        .isstdcnt = counts[1],
        .leapcnt = counts[2],
        .timecnt = counts[3],
        .typecnt = counts[4],
        .charcnt = counts[5],
    };
    return true;
}

static size_t block_bytes(const struct tzif_header *head, size_t time_bytes)
{
    return head->timecnt * (time_bytes + 1) + head->typecnt * 6 + head->charcnt +
           head->leapcnt * (time_bytes + 4) + head->isstdcnt + head->isutcnt;
}

static bool read_block(struct arena *arena,
                       struct str block,
                       const struct tzif_header *head,
                       struct timezone_rules *zone)
{
    zone->count = head->timecnt;
    zone->type_count = head->typecnt;
    zone->times = ARENA_ARRAY(arena, zone->times, zone->count);
    zone->types = ARENA_ARRAY(arena, zone->types, zone->count);
    zone->offsets = ARENA_ARRAY(arena, zone->offsets, zone->type_count);
    struct str times = timezone_cut(&block, zone->count * 8);
    struct str types = timezone_cut(&block, zone->count);
    for (size_t i = 0; i < zone->count; i++) {
        zone->times[i] = (int64_t)big_endian(times.ptr + i * 8, 8);
        zone->types[i] = (uint8_t)types.ptr[i];
        if (zone->types[i] >= zone->type_count || (i > 0 && zone->times[i] <= zone->times[i - 1]))
            return false;
    }
    for (size_t i = 0; i < zone->type_count; i++) {
        zone->offsets[i] = (int32_t)(uint32_t)big_endian(block.ptr + i * 6, 4);
        /* The range that RFC 9636 section 3.2 recommends to writers. */
        if (zone->offsets[i] <= -25 * 3600 || zone->offsets[i] >= OFFSET_MAX_S)
            return false;
    }
    return true;
}

int timezone_parse(struct arena *arena, struct str bytes, struct timezone_rules **ret_rules)
{
    struct tzif_header head;
    struct timezone_rules *zone = ARENA_NEW(arena, zone);

    zone->arena = arena;
    /* Skip the first block: it has 32-bit times for readers of version 1. */
    if (bytes.len > TZIF_MAX_BYTES || !take_header(&bytes, &head) || head.version < '2' ||
        block_bytes(&head, 4) > bytes.len)
        return TZIF_BAD;
    (void)timezone_cut(&bytes, block_bytes(&head, 4));
    /* Refuse leap seconds: our clocks do not count them. */
    if (!take_header(&bytes, &head) || head.leapcnt > 0 || head.typecnt == 0 ||
        head.typecnt > 256 || block_bytes(&head, 8) > bytes.len)
        return TZIF_BAD;
    if (!read_block(arena, timezone_cut(&bytes, block_bytes(&head, 8)), &head, zone))
        return TZIF_BAD;
    if (bytes.len < 2 || bytes.ptr[0] != '\n' || bytes.ptr[bytes.len - 1] != '\n')
        return TZIF_BAD;
    struct str footer = {bytes.ptr + 1, bytes.len - 2};
    if (footer.len > 0) {
        if (posix_tz_parse(footer, &zone->footer) != 0)
            return TZIF_BAD;
        zone->has_footer = true;
    }
    *ret_rules = zone;
    return 0;
}

/* --- finding --- */

bool timezone_is_name(struct str name)
{
    struct str rest = name;
    size_t parts = 0;

    if (!name.ptr || name.len == 0 || name.len > 64)
        return false;
    while (rest.ptr) {
        struct str part = str_split(&rest, '/');
        if (part.len == 0 || part.len > 32 || ++parts > 3 || !ascii_is(part.ptr[0], ASCII_LETTER) ||
            !ascii_has_only(part, ASCII_ALNUM, "_-+"))
            return false;
    }
    /* Refuse files that are not IANA zones: the setting of this machine, placeholders, and copies
     * of the zones with and without leap seconds. */
    return !str_is(name, "localtime") && !str_is(name, "posixrules") && !str_is(name, "Factory") &&
           !str_starts(name, STR("posix/")) && !str_starts(name, STR("right/"));
}

static int read_file(const char *path, char *buffer, size_t size, size_t *ret_len)
{
    _auto_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    size_t len = 0;

    while (fd >= 0 && len < size) {
        ssize_t got = read(fd, buffer + len, size - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return TZIF_BAD;
        if (got == 0)
            break;
        len += (size_t)got;
    }
    *ret_len = len;
    return fd < 0 ? TZIF_BAD : 0;
}

const struct timezone_rules *timezone_find(struct str name)
{
    static struct map *cache; /* never emptied: there are some 600 zones */
    static char buffer[TZIF_MAX_BYTES];
    struct timezone_rules *zone;
    char path[sizeof(ZONEINFO) + 64];
    size_t len;

    if (str_is(name, "UTC"))
        return &utc;
    if (!timezone_is_name(name))
        return NULL;
    if (!cache)
        cache = map_new();
    zone = map_get(cache, name);
    if (zone)
        return zone;
    (void)snprintf(path, sizeof(path), ZONEINFO "%.*s", STR_ARG(name));
    if (read_file(path, buffer, sizeof(buffer), &len) != 0)
        return NULL;
    struct arena *arena = arena_new(0);
    if (timezone_parse(arena, (struct str){buffer, len}, &zone) != 0) {
        arena_free(arena);
        return NULL;
    }
    (void)map_put(cache, name, zone);
    return zone;
}

/* --- looking up --- */

struct timezone_span timezone_span(const struct timezone_rules *zone, int64_t at_s)
{
    struct timezone_span span = {INT64_MIN, INT64_MAX, zone->offsets[0]};
    size_t low = 0;
    size_t high = zone->count;

    /* Find the first change after at_s: changes before `low` are not later than at_s, changes from
     * `high` on are. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->times[middle] <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0) {
        span.start_s = zone->times[low - 1];
        span.offset = zone->offsets[zone->types[low - 1]];
    }
    if (low < zone->count) {
        span.end_s = zone->times[low];
    } else if (zone->has_footer) {
        int64_t last = span.start_s;
        span = posix_tz_span(&zone->footer, at_s);
        if (span.start_s < last)
            span.start_s = last;
    }
    return span;
}

int64_t timezone_from_local(const struct timezone_rules *zone, int64_t local_s)
{
    int64_t from = local_s - OFFSET_MAX_S; /* no zone's clock shows local_s before this moment */

    for (;;) {
        struct timezone_span span = timezone_span(zone, from);
        int64_t at = local_s - span.offset;
        if (at < from)
            return from;
        if (at < span.end_s)
            return at;
        from = span.end_s;
    }
}
