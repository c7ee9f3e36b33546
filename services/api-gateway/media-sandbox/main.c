/*
 * media-sandbox MEMORY_BYTES SECONDS: probes third-party pictures and recordings, and makes
 * variants of pictures. fd 0 is a socket on which each message brings one descriptor: a connection
 * to the requesting worker (media/wire.h). A child serves each connection. The child can only
 * compute and use that connection, may use MEMORY_BYTES of memory and SECONDS of processor time,
 * and exits after its answer. The program exits at the end of fd 0, and its children with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/result.h"
#include "confine/confine.h"
#include "media-sandbox/codec.h"
#include "media-sandbox/color.h"
#include "media-sandbox/peer.h"
#include "media-sandbox/variant.h"

#define MEMORY_MIN  (16LL << 20)
#define NICE        5 /* below the daemons, whose requests wait for the database */
#define WALL_FACTOR 3 /* wall-clock time includes the waits for the file's bytes */

/* libheif searches for plugins in this folder; /dev/null is no folder, so it finds none. */
static const char *const environment[] = {"TZ=UTC", "LIBHEIF_PLUGIN_PATH=/dev/null", NULL};

/* Makes the kernel's out-of-memory killer prefer this process to the daemons. */
static void sandbox_yield_memory(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!write(fd, "1000", 4);
    (void)close(fd);
}

/* Returns the descriptor of the next connection; -1 if fd 0 has ended or the message has none. */
static int sandbox_receive(void)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char nothing;
    struct iovec iov = {&nothing, 1};
    struct msghdr message = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    ssize_t got;
    int fd = -1;

    do
        got = recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    const struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head && head->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(head), sizeof(fd));
    return fd;
}

static void sandbox_on_timeout(int number)
{
    (void)number;
    /* NOLINTNEXTLINE(bugprone-signal-handler): the call only writes to a descriptor and exits */
    peer_send_failure(MEDIA_TOO_SLOW);
}

static _Noreturn void sandbox_run_request(void)
{
    static struct media_source source;
    struct media_request request;

    peer_read_request(&request);
    peer_source_init(&source, request.size);
    struct media_facts facts = media_probe(&source);
    if (request.op == MEDIA_OP_VARIANT)
        variant_make(&request, &source, &facts);
    peer_send_done(&facts);
}

static _Noreturn void sandbox_serve(int fd, pid_t parent, unsigned seconds)
{
    (void)signal(SIGXCPU, sandbox_on_timeout);
    (void)signal(SIGALRM, sandbox_on_timeout);
    (void)setrlimit(RLIMIT_CPU, &(struct rlimit){.rlim_cur = seconds, .rlim_max = seconds + 1});
    (void)alarm(WALL_FACTOR * seconds);
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    confine_child(fd, fd, parent);
    sandbox_run_request();
}

int main(int argc, char **argv)
{
    int64_t memory_bytes = argc > 1 ? strtoll(argv[1], NULL, 10) : 0;
    unsigned seconds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    int fd;

    sandbox_yield_memory();
    confine_start("media-sandbox", environment);
    color_init();
    heif_initialize();
    confine_prepare(memory_bytes < MEMORY_MIN ? MEMORY_MIN : memory_bytes);
    (void)signal(SIGCHLD, SIG_IGN); /* no wait() for children */
    while ((fd = sandbox_receive()) >= 0) {
        pid_t parent = getpid();

        if (fork() == 0)
            sandbox_serve(fd, parent, seconds > 0 ? seconds : 1);
        (void)close(fd); /* if fork() failed, the worker sees the connection close */
    }
    return 0;
}
