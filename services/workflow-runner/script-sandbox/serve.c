/*
 * Serves one request at a time. A child that was forked in advance runs the script and reports by
 * records. This process watches the child's time and memory, kills the child when it exceeds a
 * limit, and writes the answer. In every case the next run begins with the same memory as the first
 * one.
 */
#include "script-sandbox/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "confine/confine.h"
#include "script-sandbox/engine.h"
#include "script-sandbox/record.h"

#define REQUEST_BYTES_MAX (64U << 20)
#define HEAD_BYTES        8
#define TICK_MS           5

enum run_end { END_BY_CHILD, END_TIME, END_MEMORY, END_RECORDS, END_BY_PARENT };

struct served_run {
    pid_t pid;
    int request_fd;
    int pipe_fd;
    int statm_fd;
    int64_t deadline_ms;
    int64_t base_pages; /* private pages when the script began */
    int64_t private_limit;
    enum run_end end;
    struct text records;  /* all records so far */
    size_t scanned_bytes; /* bytes of `records` that have been searched for an answer */
    struct text answer;   /* points into records */
};

static int64_t page_bytes;
static int64_t memory_limit;

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- memory --- */

/* The pages of a process that are resident and belong to no file. -1 when unknown. */
static int64_t private_pages(int statm_fd)
{
    char text[128];
    ssize_t len = pread(statm_fd, text, sizeof(text) - 1, 0);
    char *at;

    if (len <= 0)
        return -1;
    text[len] = '\0';
    (void)strtoll(text, &at, 10);
    int64_t resident = strtoll(at, &at, 10);
    return resident - strtoll(at, &at, 10);
}

static int open_statm(pid_t pid)
{
    char path[48];

    (void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* --- records --- */

/* Reads the next record. False when there is no complete one: a child's output is not trusted. */
static bool
next_record(const struct text *records, size_t *at, char *ret_kind, struct text *ret_text)
{
    uint32_t len;

    if (records->len - *at < RECORD_HEAD_BYTES)
        return false;
    memcpy(&len, records->ptr + *at + 1, sizeof(len));
    if (len > records->len - *at - RECORD_HEAD_BYTES)
        return false;
    *ret_kind = records->ptr[*at];
    *ret_text = (struct text){.ptr = records->ptr + *at + RECORD_HEAD_BYTES, .len = len};
    *at += RECORD_HEAD_BYTES + len;
    return true;
}

/* Searches the new records for the answer and sets run->answer. */
static void find_answer(struct served_run *run)
{
    struct text record;
    char kind;

    while (!run->answer.ptr && next_record(&run->records, &run->scanned_bytes, &kind, &record)) {
        if (kind == RECORD_ANSWER)
            run->answer = record;
    }
}

/* --- watching --- */

/* True while the child may continue. */
static bool within_limits(struct served_run *run)
{
    if (private_pages(run->statm_fd) > run->private_limit)
        run->end = END_MEMORY;
    else if (now_ms() >= run->deadline_ms)
        run->end = END_TIME;
    return run->end == END_BY_CHILD;
}

/* Reads records. True while more may come. Records after an answer are ignored: not waiting for the
 * child's end saves half of the time of a short run. */
static bool take_records(struct served_run *run)
{
    static char bytes[65536];
    ssize_t len = read(run->pipe_fd, bytes, sizeof(bytes));

    if (len < 0)
        return errno == EINTR;
    text_add(&run->records, bytes, (size_t)len);
    if (run->records.len > RECORDS_BYTES_MAX)
        run->end = END_RECORDS;
    find_answer(run);
    return len > 0 && run->end == END_BY_CHILD && !run->answer.ptr;
}

/* Watches the child until it has answered, has closed its end of the pipe, or must be killed. */
static void watch_child(struct served_run *run)
{
    struct pollfd fds[2] = {{.fd = run->pipe_fd, .events = POLLIN},
                            {.fd = STDIN_FILENO, .events = POLLRDHUP}};
    bool more = true;

    while (more) {
        int count = poll(fds, 2, TICK_MS);

        if (count > 0 && (fds[1].revents & ~POLLIN) != 0)
            run->end = END_BY_PARENT;
        if (count > 0 && fds[0].revents)
            more = take_records(run);
        more = more && run->end == END_BY_CHILD && within_limits(run);
    }
}

/* --- answers --- */

static void add_log(struct text *answer, const struct text *records)
{
    struct text entry;
    size_t at = 0;
    bool first = true;
    char kind;

    text_cstr(answer, ",\"log\":[");
    while (next_record(records, &at, &kind, &entry)) {
        if (kind != RECORD_LOG)
            continue;
        if (!first)
            text_cstr(answer, ",");
        text_add(answer, entry.ptr, entry.len);
        first = false;
    }
    text_cstr(answer, "]");
}

/* Whether the child ran out of memory. This ends a process in one of several ways; abort() itself
 * makes a forbidden system call here. */
static bool died_of_memory(const struct served_run *run, int status, int64_t peak_bytes)
{
    if (run->end == END_MEMORY || (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_MEMORY))
        return true;
    return WIFSIGNALED(status) && peak_bytes > memory_limit / 2;
}

static void
add_failure(struct text *answer, const struct served_run *run, int status, int64_t peak_bytes)
{
    char words[160];

    if (run->end == END_TIME || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        (void)snprintf(words,
                       sizeof(words),
                       "\"code\":\"script_timeout\",\"message\":\"the script ran longer than its "
                       "time limit\"");
    else if (died_of_memory(run, status, peak_bytes))
        (void)snprintf(words,
                       sizeof(words),
                       "\"code\":\"script_memory\",\"message\":\"the script needs more than %lld "
                       "MB of memory\"",
                       (long long)(memory_limit >> 20));
    else
        (void)snprintf(words,
                       sizeof(words),
                       "\"code\":\"script_crashed\",\"message\":\"the process of the script ended "
                       "by signal %d\"",
                       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    text_cstr(answer, "\"ok\":false,");
    text_cstr(answer, words);
}

static void serve_write_answer(struct served_run *run, int status, int64_t peak_bytes)
{
    struct text frame = {0};

    text_add(&frame, "\0\0\0\0{", 5);
    if (run->answer.ptr)
        text_add(&frame, run->answer.ptr, run->answer.len);
    else
        add_failure(&frame, run, status, peak_bytes);
    add_log(&frame, &run->records);
    text_cstr(&frame, "}");
    for (int i = 0; i < 4; i++)
        frame.ptr[i] = (char)((frame.len - 4) >> (24 - 8 * i));
    write_all(frame.ptr, frame.len);
    free(frame.ptr);
}

/* --- runs --- */

/* Reads exactly `count` bytes from fd 0, or ends the process when fd 0 has ended. */
static void serve_read_exactly(void *bytes, size_t count)
{
    char *at = bytes;

    while (count > 0) {
        ssize_t len = read(STDIN_FILENO, at, count);

        if (len < 0 && errno == EINTR)
            continue;
        if (len <= 0)
            _exit(0);
        at += len;
        count -= (size_t)len;
    }
}

static uint32_t u32_of(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Reads `len` bytes into malloc'd memory and appends a NUL. */
static char *read_bytes(size_t len)
{
    char *bytes = len <= REQUEST_BYTES_MAX ? malloc(len + 1) : NULL;

    if (!bytes)
        _exit(EXIT_NO_MEMORY);
    serve_read_exactly(bytes, len);
    bytes[len] = '\0';
    return bytes;
}

/* Called in the child: reads the request that serve_hand_over() wrote. */
static char *serve_read_request(void)
{
    uint32_t len;

    serve_read_exactly(&len, sizeof(len));
    return read_bytes(len);
}

/* Forks the child of the next request. The child warms itself up before the request comes: most of
 * the cost of a short script is the first access to pages that parent and child share. */
static void start_child(struct served_run *run)
{
    pid_t parent = getpid();
    int requests[2];
    int records[2];

    *run = (struct served_run){0};
    if (pipe2(requests, O_CLOEXEC) != 0 || pipe2(records, O_CLOEXEC) != 0)
        _exit(1);
    run->pid = fork();
    if (run->pid < 0)
        _exit(1);
    if (run->pid == 0) {
        engine_warm_up();
        confine_child(requests[0], records[1], parent);
        engine_run(serve_read_request());
    }
    (void)close(requests[0]);
    (void)close(records[1]);
    run->request_fd = requests[1];
    run->pipe_fd = records[0];
    run->statm_fd = open_statm(run->pid);
}

/* Gives the request to the child and starts its time. Failed writes are ignored: a child that died
 * before is noticed when its records end. */
static void
serve_hand_over(struct served_run *run, const char *request, size_t len, int64_t time_ms)
{
    uint32_t size = (uint32_t)len;
    struct rlimit cpu = {.rlim_cur = (rlim_t)(time_ms / 1000) + 2,
                         .rlim_max = (rlim_t)(time_ms / 1000) + 2};

    run->base_pages = private_pages(run->statm_fd);
    run->private_limit = run->base_pages + memory_limit / page_bytes;
    (void)prlimit(run->pid, RLIMIT_CPU, &cpu, NULL);
    if (write_to(run->request_fd, &size, sizeof(size)))
        (void)write_to(run->request_fd, request, len);
    (void)close(run->request_fd);
    run->deadline_ms = now_ms() + time_ms;
}

static void finish_run(struct served_run *run)
{
    struct rusage usage = {0};
    int status = 0;

    (void)kill(run->pid, SIGKILL);
    if (run->answer.ptr)
        serve_write_answer(run, 0, 0);
    while (wait4(run->pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    (void)close(run->pipe_fd);
    (void)close(run->statm_fd);
    if (run->end == END_BY_PARENT)
        _exit(0);
    if (!run->answer.ptr)
        serve_write_answer(
            run, status, (int64_t)usage.ru_maxrss * 1024 - run->base_pages * page_bytes);
    free(run->records.ptr);
}

void serve_requests(int64_t memory_bytes)
{
    unsigned char head[HEAD_BYTES];
    struct served_run run;

    page_bytes = sysconf(_SC_PAGESIZE);
    memory_limit = memory_bytes;
    start_child(&run);
    write_all("\0\0\0\2{}", 6); /* this process is ready */
    for (;;) {
        serve_read_exactly(head, sizeof(head));
        char *request = read_bytes(u32_of(head));
        serve_hand_over(&run, request, u32_of(head), u32_of(head + 4));
        free(request);
        watch_child(&run);
        finish_run(&run);
        engine_refresh();
        start_child(&run);
    }
}
