/*
 * script-sandbox [MEMORY_BYTES]: runs the scripts of RunScript steps, one at a time. Each script
 * runs in a process of its own, which can do nothing but compute and write to one pipe.
 *
 * Frames, with lengths as big-endian u32:
 *   fd 0   length, time limit in ms (u32), {"script": text, "svc": value}
 *   fd 1   length, {} once when the program is ready, then for each request
 *          {"ok": true, "result": value, "log": [text, ...]} or
 *          {"ok": false, "code": code, "message": text, "line": n, "log": [...]}, code being one of
 *          script_error, script_timeout, script_memory, script_result, script_crashed
 * The program ends when fd 0 ends. MEMORY_BYTES is the memory that a script may use beyond the
 * memory of the engine.
 */
#include <stdint.h>
#include <stdlib.h>

#include "confine/confine.h"
#include "script-sandbox/engine.h"
#include "script-sandbox/serve.h"

#define MEMORY_BYTES (64LL << 20)
#define MEMORY_MIN   (8LL << 20)

/* Settings that leave the engine with one thread, so that a forked child is a complete copy: no
 * compiler threads, no collector threads, and malloc() instead of the engine's own heaps, which use
 * a thread too. Compiled code would also need memory that is writable and executable, where most
 * security holes of an engine are. */
static const char *const engine_environment[] = {
    "Malloc=1",
    "JSC_useJIT=0",
    "JSC_useConcurrentGC=0",
    "JSC_numberOfGCMarkers=1",
    "JSC_useSharedArrayBuffer=0",
    "JSC_maxPerThreadStackUsage=4194304",
    "JSC_forceRAMSize=67108864", /* the engine collects garbage as on a machine with 64 MB, so that
                                    it does so before our limit */
    "TZ=UTC",
    "LANG=en_US.UTF-8",
    NULL,
};

int main(int argc, char **argv)
{
    int64_t memory_bytes = argc > 1 ? strtoll(argv[1], NULL, 10) : MEMORY_BYTES;

    if (memory_bytes < MEMORY_MIN)
        memory_bytes = MEMORY_MIN;
    confine_start("script-sandbox", engine_environment);
    engine_start();
    confine_prepare(memory_bytes);
    serve_requests(memory_bytes);
    return 0;
}
