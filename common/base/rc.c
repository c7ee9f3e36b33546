/* Result codes: the path a negative result took on its way up. */
#include "base/rc.h"

#include <stdio.h>

#define RING_SIZE  8U
#define TEXT_BYTES 1024U

/* One ring per thread, so that work threads and the loop never mix their paths. */
struct trace_ring {
    int rc;
    unsigned count; /* notes since the path began; only the newest RING_SIZE are kept */
    struct {
        const char *file;
        int line;
    } notes[RING_SIZE];
};

static _Thread_local struct trace_ring ring;

int rc_trace(int rc, const char *file, int line)
{
    if (rc >= 0)
        return rc;
    if (rc != ring.rc) {
        ring.rc = rc;
        ring.count = 0;
    }
    ring.notes[ring.count % RING_SIZE].file = file;
    ring.notes[ring.count % RING_SIZE].line = line;
    ring.count++;
    return rc;
}

const char *rc_trace_take(void)
{
    static _Thread_local char text[TEXT_BYTES];
    size_t used = 0;
    unsigned first = ring.count > RING_SIZE ? ring.count - RING_SIZE : 0;

    text[0] = '\0';
    for (unsigned i = first; i < ring.count && used < sizeof(text); i++) {
        int n = snprintf(text + used,
                         sizeof(text) - used,
                         "%s%s:%d",
                         i == first ? "" : " < ",
                         ring.notes[i % RING_SIZE].file,
                         ring.notes[i % RING_SIZE].line);
        if (n < 0)
            break;
        used += (size_t)n;
    }
    ring.rc = 0;
    ring.count = 0;
    return text;
}
