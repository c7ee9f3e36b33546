#pragma once
/* A Redis Cluster of the test's own: masters and replicas on free loopback ports. The functions
 * block, so a coroutine may only send short commands. Include after pg.h. */
#include "deadline.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#define CLUSTER_NODES 4 /* three masters, and a replica of the first */

static struct {
    int port;
    pid_t pid;
} cluster[CLUSTER_NODES];

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        abort();
    (void)close(fd);
    return ntohs(address.sin_port);
}

/* Returns the first line of redis-cli's answer; empty when redis-cli fails. */
UNUSED PRINTF_LIKE(2, 3) static const char *cluster_ask(int node, const char *format, ...)
{
    static char answer[256];
    char words[512];
    char command[640];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    (void)snprintf(command, sizeof(command), "redis-cli -p %d %s 2>&1", cluster[node].port, words);
    answer[0] = '\0';
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the command is the test's own */
    if (!pipe || !fgets(answer, sizeof(answer), pipe))
        answer[0] = '\0';
    if (pipe)
        (void)pclose(pipe);
    answer[strcspn(answer, "\r\n")] = '\0';
    return answer;
}

static void cluster_spawn(int node)
{
    char port[16], bus_port[16], dir[128];

    (void)snprintf(dir, sizeof(dir), "%s/node%d", pg_dir, node);
    (void)mkdir(dir, 0700);
    (void)snprintf(port, sizeof(port), "%d", cluster[node].port);
    (void)snprintf(bus_port, sizeof(bus_port), "%d", free_port());
    cluster[node].pid = fork();
    if (cluster[node].pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)!freopen("/dev/null", "w", stdout);
        execlp("redis-server",
               "redis-server",
               "--bind",
               "127.0.0.1",
               "--port",
               port,
               "--cluster-port",
               bus_port,
               "--cluster-enabled",
               "yes",
               "--cluster-node-timeout",
               "15000",
               "--cluster-replica-validity-factor",
               "0",
               "--cluster-require-full-coverage",
               "no",
               "--repl-diskless-sync-delay",
               "0",
               "--save",
               "",
               "--dir",
               dir,
               (char *)NULL);
        _exit(127);
    }
    UNTIL(strcmp(cluster_ask(node, "ping"), "PONG") == 0, (void)usleep(10000));
}

static void cluster_kill(int node)
{
    if (cluster[node].pid > 0) {
        (void)kill(cluster[node].pid, SIGKILL);
        (void)waitpid(cluster[node].pid, NULL, 0);
    }
    cluster[node].pid = 0;
}

UNUSED static void cluster_stop(void)
{
    for (int i = 0; i < CLUSTER_NODES; i++)
        cluster_kill(i);
}

static void cluster_wait(int node, const char *question, const char *answer)
{
    UNTIL_WITHIN(15000, strstr(cluster_ask(node, "%s", question), answer), (void)usleep(50000));
}

static long long cluster_offset(int node, const char *member)
{
    return atoll(cluster_ask(node, "info replication | sed -n 's/^%s://p'", member));
}

/* Returns when the replica has all that its master has written so far. */
UNUSED static void cluster_follow(int master, int replica)
{
    long long offset = cluster_offset(master, "master_repl_offset");

    UNTIL_WITHIN(
        30000, cluster_offset(replica, "slave_repl_offset") >= offset, (void)usleep(50000));
}

/* From now on a node that is silent for a second is given up. Before, the limit is higher, because
 * busy nodes are silent for a while too. */
UNUSED static void cluster_hasten(void)
{
    for (int i = 0; i < CLUSTER_NODES; i++)
        assert_string_equal(cluster_ask(i, "config set cluster-node-timeout 1000"), "OK");
}

/* Starts the cluster; node 3 replicates node 0. Returns when all nodes agree. */
UNUSED static void cluster_start(void)
{
    pg_folder();
    for (int i = 0; i < CLUSTER_NODES; i++)
        cluster[i].port = free_port();
    for (int i = 0; i < CLUSTER_NODES; i++)
        cluster_spawn(i);
    (void)pg_shell("redis-cli --cluster create 127.0.0.1:%d 127.0.0.1:%d 127.0.0.1:%d"
                   " --cluster-yes >/dev/null",
                   cluster[0].port,
                   cluster[1].port,
                   cluster[2].port);
    for (int i = 0; i < 3; i++)
        cluster_wait(i, "cluster info | grep state", "cluster_state:ok");
    char id[64];
    (void)snprintf(id, sizeof(id), "%s", cluster_ask(0, "cluster myid"));
    (void)pg_shell("redis-cli --cluster add-node 127.0.0.1:%d 127.0.0.1:%d --cluster-slave"
                   " --cluster-master-id %s >/dev/null",
                   cluster[3].port,
                   cluster[0].port,
                   id);
    cluster_wait(3, "info replication | grep master_link", "master_link_status:up");
}

UNUSED static const char *cluster_url(int node)
{
    static char url[CLUSTER_NODES][64];

    (void)snprintf(url[node], sizeof(url[node]), "redis://127.0.0.1:%d", cluster[node].port);
    return url[node];
}
