/* Metrics: the text that a Prometheus server reads, before the workers fork and summed over the
 * workers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop/shares.h"
#include "metrics/metrics.h"
#include "metrics/shares_metrics.h"

static struct metric *plain, *first, *other, *second, *level, *seconds, *unused, *named;

static const char *print(struct arena *arena)
{
    struct strbuf out;

    strbuf_init(&out, arena, 1 << 20);
    metrics_print(&out);
    return strbuf_cstring(&out);
}

/* Returns how often a text occurs. */
static int occurrences(const char *text, const char *what)
{
    int count = 0;

    while ((text = strstr(text, what))) {
        count++;
        text += strlen(what);
    }
    return count;
}

TEST(test_private)
{
    static const double bounds[] = {0.25, 1, 4};
    struct arena *arena = arena_new(0);

    plain = metric_counter("gw_plain_total", "", "Plain");
    first = metric_counter("gw_requests_total", "route=\"a\"", "Requests");
    other = metric_gauge("gw_other", "", "Other");
    second = metric_counter("gw_requests_total", "route=\"b\"", "Requests");
    level = metric_gauge("gw_level", "", "Level");
    seconds = metric_histogram("gw_seconds", "route=\"a\"", "Seconds", bounds, 3);
    unused = metric_histogram("gw_unused", "route=\"b\"", "Unused", bounds, 3);

    named = metric_name_counters("gw_named_total", "task", "Named");
    metric_add(plain, 3);
    metric_add(plain, 4);
    metric_set(level, -2);
    metric_observe(seconds, 0.25); /* a bucket includes its bound */
    metric_observe(seconds, 0.5);
    metric_observe(seconds, 100);

    const char *text = print(arena);
    assert_non_null(strstr(text,
                           "# HELP gw_plain_total Plain\n# TYPE gw_plain_total counter\n"
                           "gw_plain_total 7\n"));
    assert_non_null(strstr(text, "# TYPE gw_level gauge\ngw_level -2\n"));
    assert_non_null(strstr(text,
                           "gw_seconds_bucket{route=\"a\",le=\"0.25\"} 1\n"
                           "gw_seconds_bucket{route=\"a\",le=\"1\"} 2\n"
                           "gw_seconds_bucket{route=\"a\",le=\"4\"} 2\n"
                           "gw_seconds_bucket{route=\"a\",le=\"+Inf\"} 3\n"
                           "gw_seconds_sum{route=\"a\"} 100.75\n"
                           "gw_seconds_count{route=\"a\"} 3\n"));
    /* A metric has one head, and its lines are adjacent although they were registered
     * separately. */
    assert_int_equal(occurrences(text, "# HELP gw_requests_total "), 1);
    assert_non_null(strstr(text,
                           "gw_requests_total{route=\"a\"} 0\n"
                           "gw_requests_total{route=\"b\"} 0\n"));
    assert_int_equal(occurrences(text, "gw_unused_"), 0);
    arena_free(arena);
}

/* Each worker writes its own numbers, and any worker prints the sums. */
TEST(test_workers)
{
    enum { WORKERS = 3 };
    struct arena *arena = arena_new(0);

    static char names[50][24];

    for (int i = 0; i < 50; i++)
        (void)snprintf(names[i], sizeof(names[i]), "name %d", i);
    metrics_share(WORKERS);
    for (unsigned i = 0; i < WORKERS; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            metrics_worker(i);
            metric_add(plain, 10 + i);
            metric_set(level, i == 0 ? -5 : 1);
            metric_observe(seconds, i);
            metric_observe(unused, 0.125);
            metric_count_name(named, "everybody's");
            if (i > 0)
                metric_count_name(
                    named, i == 1 ? "one's" : "a_name_of_more_than_forty-seven_characters_is_cut");
            for (int k = 0; i == 2 && k < 50; k++)
                metric_count_name(named, names[k]);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    const char *text = print(arena);
    assert_non_null(strstr(text, "gw_plain_total 33\n"));
    assert_non_null(strstr(text, "gw_level -3\n"));
    assert_non_null(strstr(text, "gw_seconds_sum{route=\"a\"} 3\n"));
    assert_non_null(strstr(text, "gw_unused_sum{route=\"b\"} 0.375\n"));
    assert_non_null(strstr(text, "gw_unused_count{route=\"b\"} 3\n"));
    assert_int_equal(occurrences(text, "everybody's"), 1);
    assert_non_null(
        strstr(text,
               "# TYPE gw_named_total counter\n"
               "gw_named_total{task=\"everybody's\"} 3\n"
               "gw_named_total{task=\"one's\"} 1\n"
               "gw_named_total{task=\"a_name_of_more_than_forty-seven_characters_is_c\"} 1\n"
               "gw_named_total{task=\"name 0\"} 1\n"));
    assert_non_null(strstr(text, "gw_named_total{task=\"other\"} 21\n"));
    arena_free(arena);
}

/* The numbers of the workers' shares, which each worker makes after the fork. Shares with the
 * same name are one pool. */
TEST(test_shares)
{
    struct arena *arena = arena_new(0);
    struct strbuf out;

    shares_metrics_share(2);
    for (unsigned i = 0; i < 2; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct shares calls, more, silent;
            struct share *share;
            shares_init(&calls, &(struct shares_config){"calls", .limit = 10, .per_owner = 2});
            shares_init(&more, &(struct shares_config){"calls", .limit = 5, .per_owner = 2});
            shares_init(&silent, &(struct shares_config){.limit = 1, .per_owner = 1});
            for (int64_t owner = 0; owner <= i; owner++) {
                if (shares_try(&calls, (struct share_owner){owner, 0}, 2, &share) != 0)
                    _exit(1);
            }
            if (shares_try(&calls, (struct share_owner){0, 0}, 1, &share) == 0)
                _exit(1);
            shares_metrics_measure(i);
            shares_metrics_measure(i); /* again: values are set, not added */
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    strbuf_init(&out, arena, 1 << 20);
    shares_metrics_print(&out);
    const char *text = strbuf_cstring(&out);
    assert_non_null(strstr(text,
                           "# TYPE groundwork_shares_held gauge\n"
                           "groundwork_shares_held{pool=\"calls\"} 6\n# HELP"));
    assert_non_null(strstr(text, "groundwork_shares_limit{pool=\"calls\"} 30\n"));
    assert_non_null(strstr(text, "groundwork_shares_owners{pool=\"calls\"} 3\n"));
    assert_non_null(strstr(text, "groundwork_shares_waiting{pool=\"calls\"} 0\n"));
    assert_non_null(strstr(text, "groundwork_shares_refused_total{pool=\"calls\"} 2\n"));
    assert_int_equal(occurrences(text, "pool="), 5);
    arena_free(arena);
}
