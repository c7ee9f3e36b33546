#pragma once
/* Runs a short Python server, which prints its port, in a child process of a test. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t server_pid;
static int server_port;

/* Starts the server, as the setup of a group; returns 0 or -1. */
static int python_server_start(const char *program)
{
    int ends[2];
    char text[16] = "";

    if (pipe(ends) != 0)
        return -1;
    server_pid = fork();
    if (server_pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        /* By its full path, because python3 searches for its library relative to the name that it
         * is called by. */
        (void)execl("/usr/bin/python3", "/usr/bin/python3", "-c", program, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    ssize_t bytes = read(ends[0], text, sizeof(text) - 1);
    (void)close(ends[0]);
    server_port = bytes > 0 ? (int)strtol(text, NULL, 10) : 0;
    return server_port > 0 ? 0 : -1;
}

static int python_server_stop(void **state UNUSED)
{
    (void)kill(server_pid, SIGKILL);
    (void)waitpid(server_pid, NULL, 0);
    return 0;
}
