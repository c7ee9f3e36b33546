/* Sends files from the page cache to a socket, without copying them through this process. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "http/conn_private.h"

#define FILE_ONCE_BYTES 262144U
#define SMALLEST_PAGE   4096U
#define WAIT_BYTES      2048U /* queued so that libuv reports when a full socket has room */

/* Returns how many of the bytes, from the first byte on, are in the page cache. For the other bytes
 * sendfile(2) would wait for the disk, and it has no flag against that. (When pages are evicted
 * after this check, the loop reads them from disk: a few pages, once in a while.) */
static size_t bytes_in_memory(int fd, int64_t offset, size_t bytes)
{
    unsigned char held[FILE_ONCE_BYTES / SMALLEST_PAGE + 1];
    size_t page = (size_t)getpagesize();
    size_t skipped = (size_t)offset % page;
    size_t pages = (skipped + bytes + page - 1) / page;
    size_t count = 0;

    void *map =
        mmap(NULL, skipped + bytes, PROT_READ, MAP_SHARED, fd, (off_t)(offset - (int64_t)skipped));
    if (map == MAP_FAILED)
        return 0;
    if (mincore(map, skipped + bytes, held) == 0)
        while (count < pages && (held[count] & 1U))
            count++;
    (void)munmap(map, skipped + bytes);
    if (count == 0)
        return 0;
    return count < pages ? count * page - skipped : bytes;
}

/* Queues a few cached bytes on a full socket. Returns how many. */
static size_t bytes_queue(struct http_conn *conn, int fd, int64_t offset, size_t bytes)
{
    char some[WAIT_BYTES];
    struct iovec into = {some, bytes < sizeof(some) ? bytes : sizeof(some)};
    ssize_t got = preadv2(fd, &into, 1, (off_t)offset, RWF_NOWAIT);

    if (got <= 0)
        return 0;
    const struct str chunk = {some, (size_t)got};
    conn_write(conn, &chunk, 1);
    return chunk.len;
}

size_t conn_send_file(struct http_conn *conn, int fd, int64_t offset, int64_t bytes)
{
    off_t at = (off_t)offset;

    if (conn_queued_bytes(conn) > 0)
        return 0;
    size_t once = bytes < (int64_t)FILE_ONCE_BYTES ? (size_t)bytes : FILE_ONCE_BYTES;
    size_t known = bytes_in_memory(fd, offset, once);
    ssize_t sent = known > 0 ? sendfile(conn_fd(conn), fd, &at, known) : 0;
    if (sent < 0 && errno == EAGAIN)
        return bytes_queue(conn, fd, offset, known);
    if (sent <= 0) /* a plain write will report the error */
        return 0;
    conn->server->stats.bytes_out += (uint64_t)sent;
    conn->out_total += (uint64_t)sent;
    return (size_t)sent;
}
