/* Conditions: evaluation. */
#include "base/num.h"
#include "base/panic.h"
#include "json/jr.h"
#include "workflow/condition_private.h"

/* --- values --- */

#define VALUE_DEPTH 128 /* deeper than any document that the JSON reader accepts */

/* A number as decimal text. `buf` holds the text of a JSON number. */
struct number {
    char buf[32];
    struct str text;
};

/* Reads a number, or a text that is a number in JSON. Returns false for any other value. */
static bool number_read_json(const json_t *value, struct number *ret_number)
{
    double near;

    ret_number->text = json_is_string(value) ? json_text(value) : jr_number(value, ret_number->buf);
    if (!json_is_string(value))
        return ret_number->text.ptr != NULL;
    return num_parse_f64(ret_number->text, &near);
}

/* NOLINTBEGIN(misc-no-recursion): at most VALUE_DEPTH deep */

static bool values_equal_to_depth(const json_t *a, const json_t *b, int depth);

static bool equal_objects(const json_t *a, const json_t *b, int depth)
{
    const char *name;
    size_t len;
    json_t *item;

    if (json_object_size(a) != json_object_size(b))
        return false;
    json_object_keylen_foreach((json_t *)a, name, len, item)
    {
        const json_t *other = json_object_getn(b, name, len);
        if (other == NULL || !values_equal_to_depth(item, other, depth))
            return false;
    }
    return true;
}

static bool equal_arrays(const json_t *a, const json_t *b, int depth)
{
    if (json_array_size(a) != json_array_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!values_equal_to_depth(json_array_get(a, i), json_array_get(b, i), depth))
            return false;
    return true;
}

static bool values_equal_to_depth(const json_t *a, const json_t *b, int depth)
{
    struct number x;
    struct number y;

    if (a == NULL || b == NULL)
        return a == b;
    if (json_is_number(a) || json_is_number(b))
        return number_read_json(a, &x) && number_read_json(b, &y) &&
               num_compare(x.text, y.text) == 0;
    if (json_typeof(a) != json_typeof(b) || depth == 0)
        return false;
    if (json_is_object(a))
        return equal_objects(a, b, depth - 1);
    if (json_is_array(a))
        return equal_arrays(a, b, depth - 1);
    return !json_is_string(a) || str_eq(json_text(a), json_text(b));
}

/* NOLINTEND(misc-no-recursion) */

bool values_equal(const json_t *a, const json_t *b)
{
    return values_equal_to_depth(a, b, VALUE_DEPTH);
}

bool values_order(const json_t *a, const json_t *b, int *ret_order)
{
    struct number x;
    struct number y;

    if (json_is_string(a) && json_is_string(b)) {
        *ret_order = str_cmp(json_text(a), json_text(b));
        return true;
    }
    if (!number_read_json(a, &x) || !number_read_json(b, &y))
        return false;
    *ret_order = num_compare(x.text, y.text);
    return true;
}

/* --- comparisons --- */

struct evaluation {
    struct arena *arena;
    const struct template_context *context;
    size_t items; /* items that [*] may still expand */
    struct str *ret_error;
};

/* The evaluated operands of a comparison. `left` is NULL when the value is absent. */
struct comparison_operands {
    const json_t *left;
    const json_t **right;
    size_t count;
};

static bool is_empty(const json_t *value)
{
    if (value == NULL || json_is_null(value))
        return true;
    if (json_is_string(value))
        return json_string_length(value) == 0;
    if (json_is_array(value))
        return json_array_size(value) == 0;
    return json_is_object(value) && json_object_size(value) == 0;
}

static bool is_one_of(const json_t *left, const json_t *const *right, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values_equal(left, right[i]))
            return true;
    return false;
}

static bool value_contains(const json_t *left, const json_t *right)
{
    struct str text = json_text(right);

    if (json_is_array(left)) {
        for (size_t i = 0; i < json_array_size(left); i++)
            if (values_equal(json_array_get(left, i), right))
                return true;
        return false;
    }
    if (!json_is_string(right))
        return false;
    if (json_is_object(left))
        return json_object_getn(left, text.ptr, text.len) != NULL;
    return json_is_string(left) &&
           (text.len == 0 ||
            memmem(json_string_value(left), json_string_length(left), text.ptr, text.len));
}

static bool order_holds(enum condition_op op, const json_t *left, const json_t *right)
{
    int order;

    if (!values_order(left, right, &order))
        return false;
    switch (op) {
    case COND_GT:
        return order > 0;
    case COND_GTE:
        return order >= 0;
    case COND_LT:
        return order < 0;
    default:
        return order <= 0;
    }
}

/* Evaluates an operator that takes a value. `left` is not NULL. */
static bool
condition_compare(enum condition_op op, const json_t *left, const struct comparison_operands *sides)
{
    const json_t *right = sides->count > 0 ? sides->right[0] : NULL;

    switch (op) {
    case COND_EQ:
        return values_equal(left, right);
    case COND_NE:
        return !values_equal(left, right);
    case COND_IN:
    case COND_MATCHES:
        return is_one_of(left, sides->right, sides->count);
    case COND_NIN:
        return !is_one_of(left, sides->right, sides->count);
    case COND_CONTAINS:
        return value_contains(left, right);
    case COND_NOT_CONTAINS:
        return !value_contains(left, right);
    case COND_STARTS:
        return json_is_string(left) && json_is_string(right) &&
               str_starts(json_text(left), json_text(right));
    case COND_ENDS:
        return json_is_string(left) && json_is_string(right) &&
               str_ends(json_text(left), json_text(right));
    case COND_BETWEEN:
        return sides->count == 2 && order_holds(COND_GTE, left, sides->right[0]) &&
               order_holds(COND_LTE, left, sides->right[1]);
    default:
        return order_holds(op, left, right);
    }
}

static bool condition_takes_list(enum condition_op op)
{
    enum operator_operand takes = condition_operator(op)->operand;

    return takes == TAKES_LIST || takes == TAKES_PAIR;
}

static int
operand_evaluate(struct evaluation *in, const struct operand *operand, const json_t **ret_value)
{
    json_t *value;

    if (operand->reference == NULL) {
        *ret_value = operand->value;
        return 0;
    }
    TRY(reference_find(
        in->arena, operand->reference, in->context, &in->items, &value, in->ret_error));
    *ret_value = value;
    return 0;
}

/* Replaces the reference on the right by the items of the list that it resolved to. */
static int condition_expand_list(struct evaluation *in,
                                 const struct condition *test,
                                 struct comparison_operands *sides)
{
    MUST(sides->right != NULL);
    const json_t *list = sides->right[0];
    size_t count = json_array_size(list);

    if (!json_is_array(list) || (test->op == COND_BETWEEN && count != 2)) {
        *in->ret_error =
            arena_printf(in->arena,
                         "%.*s is %s%s",
                         STR_ARG(test->right[0].reference->text),
                         json_type_text(list),
                         json_is_array(list) ? " without exactly two items" : ", not an array");
        return TEMPLATE_UNRESOLVED;
    }
    sides->right = arena_zalloc_array(in->arena, sizeof(*sides->right), count);
    sides->count = count;
    for (size_t i = 0; i < count; i++)
        sides->right[i] = json_array_get(list, i);
    return 0;
}

static int operand_evaluate_right(struct evaluation *in,
                                  const struct condition *test,
                                  struct comparison_operands *sides)
{
    if (test->right_count == 0)
        return 0;
    sides->right = arena_zalloc_array(in->arena, sizeof(*sides->right), test->right_count);
    sides->count = test->right_count;
    for (size_t i = 0; i < test->right_count; i++)
        TRY(operand_evaluate(in, &test->right[i], &sides->right[i]));
    return condition_takes_list(test->op) && !test->is_literal_list
               ? condition_expand_list(in, test, sides)
               : 0;
}

/* Whether the comparison accepts a field that does not resolve: it tests for presence, for
 * emptiness or for null. */
static bool comparison_accepts_absent(enum condition_op op, const struct comparison_operands *sides)
{
    bool equality = op == COND_EQ || op == COND_NE;

    return (op >= COND_EMPTY && op <= COND_NOT_EXISTS) ||
           (equality && sides->count > 0 && json_is_null(sides->right[0]));
}

static int operand_evaluate_left(struct evaluation *in,
                                 const struct condition *test,
                                 struct comparison_operands *sides)
{
    const struct operand *left = &test->left;

    if (left->reference == NULL) {
        sides->left = json_object_getn(in->context->root, left->name.ptr, left->name.len);
        return 0;
    }
    int rc = operand_evaluate(in, left, &sides->left);
    if (rc == TEMPLATE_UNRESOLVED && comparison_accepts_absent(test->op, sides)) {
        sides->left = NULL;
        return 0;
    }
    return rc;
}

static int eval_test(struct evaluation *in, const struct condition *test, bool *ret_holds)
{
    struct comparison_operands sides = {.left = NULL};

    TRY(operand_evaluate_right(in, test, &sides));
    TRY(operand_evaluate_left(in, test, &sides));
    switch (test->op) {
    case COND_EMPTY:
    case COND_NOT_EMPTY:
        *ret_holds = is_empty(sides.left) == (test->op == COND_EMPTY);
        break;
    case COND_EXISTS:
    case COND_NOT_EXISTS:
        *ret_holds = (sides.left != NULL) == (test->op == COND_EXISTS);
        break;
    default:
        *ret_holds = condition_compare(test->op, sides.left ? sides.left : json_null(), &sides);
        break;
    }
    return 0;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as groups nest, which the parser limits */
static int
condition_eval_node(struct evaluation *in, const struct condition *condition, bool *ret_holds)
{
    bool all = condition->kind == CONDITION_ALL;
    bool holds = all;

    if (condition->kind == CONDITION_TEST)
        return eval_test(in, condition, ret_holds);
    for (size_t i = 0; holds == all && i < condition->count; i++)
        TRY(condition_eval_node(in, &condition->members[i], &holds));
    *ret_holds = holds;
    return 0;
}
/* NOLINTEND(misc-no-recursion) */

int condition_eval(struct arena *arena,
                   const struct condition *condition,
                   const struct template_context *context,
                   bool *ret_holds,
                   struct str *ret_error)
{
    struct evaluation in = {arena, context, TEMPLATE_MAX_ITEMS, ret_error};

    return condition_eval_node(&in, condition, ret_holds);
}
