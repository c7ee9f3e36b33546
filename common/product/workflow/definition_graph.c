/* The links between steps: loops, steps that no step leads to, and references to steps that cannot
 * have run. */
#include "base/strbuf.h"
#include "workflow/definition_private.h"

/* A set of steps, one bit each. */
struct steps_set {
    uint64_t bits[(STEPS_MAX + 63) / 64];
};

struct graph {
    struct check *in;
    const struct definition *definition;
    bool is_reached[STEPS_MAX];
    struct steps_set before[STEPS_MAX]; /* steps that may have run before this step */
};

static void set_add(struct steps_set *set, size_t step)
{
    set->bits[step / 64] |= 1ULL << (step % 64);
}

static bool set_has(const struct steps_set *set, size_t step)
{
    return (set->bits[step / 64] >> (step % 64) & 1) != 0;
}

static void set_merge(struct steps_set *set, const struct steps_set *other)
{
    for (size_t i = 0; i < ARRAY_LEN(set->bits); i++)
        set->bits[i] |= other->bits[i];
}

#define LINKS 4
static int link_of(const struct step *step, int link)
{
    const int links[LINKS] = {step->next, step->on_true, step->on_false, step->on_failure};

    return links[link];
}

/* --- loops --- */

/* A depth-first walk. link[i] is the next link to follow from the step path[i]. */
struct walk {
    int path[STEPS_MAX];
    int link[STEPS_MAX];
    int depth;
    bool on_path[STEPS_MAX]; /* by step: it is in `path` */
};

static void report_loop(const struct graph *graph, const struct walk *walk, int target)
{
    const struct step *steps = graph->definition->steps;
    struct step_paths paths;
    struct strbuf out;
    int from = 0;

    while (walk->path[from] != target)
        from++;
    strbuf_init(&out, graph->in->arena, 65536);
    for (int i = from; i < walk->depth; i++)
        strbuf_printf(&out, "%.*s -> ", STR_ARG(steps[walk->path[i]].key));
    strbuf_str(&out, steps[target].key);
    step_paths_init(&paths, graph->definition, (size_t)walk->path[walk->depth - 1]);
    check_fail(graph->in,
               &paths.step,
               PROBLEM_VALIDATION_FAILED,
               "leads back to an earlier step: %.*s",
               STR_ARG(strbuf_view(&out)));
}

/* Walks depth first from the start step. Returns false at the first loop, which is reported.
 * `order` gets the reached steps, each after all steps that it leads to. */
static bool walk_from_start(struct graph *graph, int *order, size_t *ret_count)
{
    struct walk walk = {.path = {graph->definition->start}, .depth = 1};
    size_t count = 0;

    walk.on_path[graph->definition->start] = true;
    graph->is_reached[graph->definition->start] = true;
    while (walk.depth > 0) {
        int top = walk.path[walk.depth - 1];
        int link = walk.link[walk.depth - 1]++;
        if (link == LINKS) {
            walk.on_path[top] = false;
            order[count++] = top;
            walk.depth--;
            continue;
        }
        int target = link_of(&graph->definition->steps[top], link);
        if (target == STEP_NONE)
            continue;
        if (walk.on_path[target]) {
            report_loop(graph, &walk, target);
            return false;
        }
        if (graph->is_reached[target])
            continue;
        graph->is_reached[target] = walk.on_path[target] = true;
        walk.path[walk.depth] = target;
        walk.link[walk.depth++] = 0;
    }
    *ret_count = count;
    return true;
}

/* --- references --- */

struct visit {
    const struct graph *graph;
    size_t step;
    const struct json_path *at; /* reference_view.path is relative to this place */
    bool secrets;
};

static const struct {
    const char *root;
    const char *members[7];
} root_members[] = {
    {"trigger", {"kind", "event", "entity_name", "id", "data", "at", NULL}},
    {"workflow", {"id", "name", NULL}},
    {"job", {"id", NULL}},
};

static void check_member_known(const struct check *in,
                               const struct json_path *at,
                               const struct reference_view *view)
{
    for (size_t i = 0; i < ARRAY_LEN(root_members); i++) {
        if (!str_is(view->root, root_members[i].root) || view->second_part.len == 0)
            continue;
        for (const char *const *it = root_members[i].members; *it != NULL; it++)
            if (str_is(view->second_part, *it))
                return;
        check_fail(in,
                   at,
                   PROBLEM_NOT_FOUND,
                   "%.*s does not exist: %s has no \"%.*s\"",
                   STR_ARG(text_shorten(in->arena, view->text)),
                   root_members[i].root,
                   STR_ARG(text_shorten(in->arena, view->second_part)));
    }
}

static void check_step_known(const struct visit *visit,
                             const struct json_path *at,
                             const struct reference_view *view)
{
    const struct check *in = visit->graph->in;
    const struct definition *definition = in->definition;
    struct str text = text_shorten(in->arena, view->text);
    size_t target = 0;

    while (target < definition->step_count &&
           !str_eq(definition->steps[target].key, view->second_part))
        target++;
    if (target == definition->step_count)
        check_fail(in,
                   at,
                   PROBLEM_NOT_FOUND,
                   "%.*s: there is no step \"%.*s\"",
                   STR_ARG(text),
                   STR_ARG(text_shorten(in->arena, view->second_part)));
    else if (!set_has(&visit->graph->before[visit->step], target))
        check_fail(in,
                   at,
                   PROBLEM_VALIDATION_FAILED,
                   "%.*s: the step \"%.*s\" cannot have run before this step",
                   STR_ARG(text),
                   STR_ARG(view->second_part));
}

static int check_reference(const struct reference_view *view, void *arg)
{
    const struct visit *visit = arg;
    const struct check *in = visit->graph->in;
    struct json_path relative = {.parent = visit->at, .name = view->path};
    const struct json_path *at = view->path.len > 0 ? &relative : visit->at;

    if (str_is(view->root, "secrets") && !visit->secrets)
        check_fail(in,
                   at,
                   PROBLEM_VALIDATION_FAILED,
                   "%.*s: secrets can only be used in the headers and the body of CallAnApi",
                   STR_ARG(text_shorten(in->arena, view->text)));
    else if (str_is(view->root, "steps"))
        check_step_known(visit, at, view);
    else
        check_member_known(in, at, view);
    return 0;
}

static void check_templates(struct visit *visit,
                            const struct json_path *params_at,
                            const struct step *step,
                            const struct step_param *param)
{
    struct json_path at = {.parent = params_at, .name = str_from(param->name)};
    const json_t *value = check_member(step->params, param->name);
    const struct check *in = visit->graph->in;
    struct str place;
    struct str error;

    if (value == NULL)
        return;
    visit->at = &at;
    visit->secrets = param->allows_secrets;
    if (template_visit(in->arena, value, true, check_reference, visit, &place, &error) == 0)
        return;
    struct json_path inner = {.parent = &at, .name = place};
    check_fail(in, place.len > 0 ? &inner : &at, PROBLEM_PATTERN, "%.*s", STR_ARG(error));
}

static void check_step(const struct graph *graph, size_t index)
{
    const struct step *step = &graph->definition->steps[index];
    struct visit visit = {.graph = graph, .step = index};
    struct step_paths paths;

    step_paths_init(&paths, graph->definition, index);
    if (step->condition != NULL) {
        visit.at = &paths.params;
        (void)condition_visit(step->condition, check_reference, &visit);
    }
    for (const struct step_param *it = step_params(step->action); it->name != NULL; it++)
        if (it->allows_templates)
            check_templates(&visit, &paths.params, step, it);
}

void check_graph(struct check *in)
{
    struct graph graph = {.in = in, .definition = in->definition};
    int order[STEPS_MAX];
    size_t count;

    if (!walk_from_start(&graph, order, &count))
        return;
    /* In reverse, `order` has every step after all steps that may run before it. */
    for (size_t i = count; i-- > 0;) {
        size_t from = (size_t)order[i];
        for (int link = 0; link < LINKS; link++) {
            int target = link_of(&in->definition->steps[from], link);
            if (target == STEP_NONE)
                continue;
            set_merge(&graph.before[target], &graph.before[from]);
            set_add(&graph.before[target], from);
        }
    }
    for (size_t i = 0; i < in->definition->step_count; i++) {
        struct step_paths paths;
        step_paths_init(&paths, in->definition, i);
        if (graph.is_reached[i])
            check_step(&graph, i);
        else
            check_fail(in, &paths.step, PROBLEM_VALIDATION_FAILED, "no step leads to this step");
    }
}
