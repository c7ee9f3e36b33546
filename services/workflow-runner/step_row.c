/*
 * Makes the outcome of a step a row of its history. Masking and printing megabytes takes long, so
 * large values are handled on a thread, which owns the call and the arenas during that time.
 */
#include "step_row.h"

#include "base/panic.h"
#include "json/jr_off_thread.h"
#include "json/jw.h"
#include "loop/work.h"

#define SHOWN_BYTES ((size_t)64 << 10) /* of input, log, and an answer in an error */
#define PRINT_BYTES ((size_t)32 << 20) /* of a value that is printed to find out its length */
#define LOG_ENTRIES 100
/* A value of this depth can still be parsed after it has been wrapped once or twice. */
#define OUTPUT_DEPTH (JR_MAX_DEPTH - 4)

static const json_t *mask_json(struct step_call *call, const json_t *value)
{
    if (value == NULL || call->secrets == NULL)
        return value;
    return secrets_mask(call->task->arena, call->secrets, value);
}

/* Prints into the step's arena. False when the text is longer than `most`. */
static bool
print_within(struct step_call *call, const json_t *value, size_t most, struct str *ret_text)
{
    return jr_print_within(call->task->arena, value, most, ret_text);
}

/* NOLINTBEGIN(misc-no-recursion): not deeper than OUTPUT_DEPTH */
static bool fits_depth(const json_t *value, int levels)
{
    size_t i;
    json_t *item;
    const char *name;

    if (json_is_object(value)) {
        json_object_foreach((json_t *)value,
                            name,
                            item) if (levels == 0 || !fits_depth(item, levels - 1)) return false;
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, item) if (levels == 0 ||
                                               !fits_depth(item, levels - 1)) return false;
    }
    return true;
}
/* NOLINTEND(misc-no-recursion) */

/* Prints a value. When its text is too long, or nested too deep to be parsed again, the value
 * becomes {"truncated": true, "bytes": n}. */
static json_t *print_or_truncate(struct step_call *call, const json_t *value, struct str *ret_text)
{
    struct str text;

    if (!print_within(call, value, PRINT_BYTES, &text))
        text.len = PRINT_BYTES;
    *ret_text = text;
    if (text.len <= SHOWN_BYTES && fits_depth(value, OUTPUT_DEPTH))
        return (json_t *)value;
    json_t *cut =
        step_own_json(call, json_pack("{s:b, s:I}", "truncated", 1, "bytes", (json_int_t)text.len));
    MUST(print_within(call, cut, SHOWN_BYTES, ret_text));
    return cut;
}

static struct str copy_to_job(struct step_call *call, struct str text)
{
    return text.len ? arena_dup(call->job->item.arena, text) : STR_NONE;
}

static struct str input_text(struct step_call *call)
{
    struct str text;

    if (call->input == NULL)
        return STR_NONE;
    (void)print_or_truncate(call, mask_json(call, call->input), &text);
    return copy_to_job(call, text);
}

struct input {
    struct step_call *call;
    struct str text;
};

static void print_input(void *arg)
{
    struct input *input = arg;

    input->text = input_text(input->call);
}

struct str step_input_text(struct step_call *call)
{
    struct input input = {.call = call};

    if (jr_is_large(call->input))
        work_off_thread(call->task, print_input, &input);
    else
        print_input(&input);
    return input.text;
}

/* Prints the first entries of the log, as many as fit. */
static struct str log_text(struct step_call *call)
{
    const json_t *entries = mask_json(call, call->log);
    json_t *stored = step_own_json(call, json_array());
    size_t bytes = 2;
    struct str text;

    for (size_t i = 0; i < json_array_size(entries) && i < LOG_ENTRIES; i++) {
        json_t *entry = json_array_get(entries, i);
        if (!print_within(call, entry, SHOWN_BYTES, &text) || bytes + text.len + 1 > SHOWN_BYTES)
            break;
        bytes += text.len + 1;
        (void)json_array_append(stored, entry);
    }
    if (json_array_size(stored) == 0)
        return STR_NONE;
    MUST(print_within(call, stored, SHOWN_BYTES + LOG_ENTRIES, &text));
    return copy_to_job(call, text);
}

/* --- errors --- */

static json_t *findings_json(const struct schema_errors *errors)
{
    json_t *list = json_array();

    for (size_t i = 0; i < errors->count && i < ARRAY_LEN(errors->items); i++) {
        const struct schema_error *error = &errors->items[i];
        json_t *finding = json_object();
        (void)json_object_set_new(finding, "field", jr_text(error->field));
        (void)json_object_set_new(finding, "code", json_string(error->code));
        (void)json_object_set_new(finding, "message", jr_text(error->message));
        (void)json_array_append_new(list, finding);
    }
    return list;
}

static json_t *error_value(struct step_call *call)
{
    const struct step_error *error = &call->error;
    json_t *value = step_own_json(call, json_object());
    struct str ignored;

    (void)json_object_set_new(value, "code", json_string(error->code));
    (void)json_object_set_new(value, "message", jr_text(error->message));
    if (error->status_code != 0)
        (void)json_object_set_new(value, "status_code", json_integer(error->status_code));
    if (error->response != NULL)
        (void)json_object_set(
            value, "response", print_or_truncate(call, mask_json(call, error->response), &ignored));
    if (error->fields != NULL && error->fields->count > 0)
        (void)json_object_set_new(value, "errors", findings_json(error->fields));
    return (json_t *)mask_json(call, value);
}

/* --- outputs --- */

static int settle_output(struct step_call *call, struct step_outcome *outcome)
{
    struct run *run = call->run;
    struct str text;

    if (call->output == NULL)
        call->output = step_own_json(call, json_pack("{s:n}", "data"));
    if (!fits_depth(call->output, OUTPUT_DEPTH))
        return step_fail(call,
                         PROBLEM_OUTPUT_TOO_LARGE,
                         "The output is nested deeper than %d levels.",
                         OUTPUT_DEPTH);
    outcome->output = (json_t *)mask_json(call, call->output);
    if (!print_within(call, outcome->output, STEP_OUTPUT_BYTES, &text))
        return step_fail(call,
                         PROBLEM_OUTPUT_TOO_LARGE,
                         "The output is larger than %zu bytes.",
                         STEP_OUTPUT_BYTES);
    if (run->output_bytes + text.len > JOB_OUTPUT_BYTES)
        return step_fail(call,
                         PROBLEM_OUTPUT_TOO_LARGE,
                         "The outputs of the job's steps are together larger than %zu bytes.",
                         JOB_OUTPUT_BYTES);
    outcome->output_bytes = text.len;
    outcome->row.output = copy_to_job(call, text);
    return 0;
}

static void settle_error(struct step_call *call, struct step_outcome *outcome)
{
    struct str text;

    outcome->output = NULL;
    outcome->row.output = STR_NONE;
    outcome->error = error_value(call);
    MUST(print_within(call, outcome->error, PRINT_BYTES, &text));
    outcome->row.error = copy_to_job(call, text);
    outcome->row.status = STATUS_STEP_FAILED;
}

struct settlement {
    struct step_call *call;
    int rc;
    struct step_outcome outcome;
};

static void step_row_settle(void *arg)
{
    struct settlement *settling = arg;
    struct step_call *call = settling->call;
    struct step_outcome *outcome = &settling->outcome;

    outcome->row.input = input_text(call);
    if (call->log != NULL)
        outcome->row.log = log_text(call);
    if (settling->rc == 0)
        settling->rc = settle_output(call, outcome);
    if (settling->rc != 0)
        settle_error(call, outcome);
}

int step_settle(struct step_call *call, int rc, struct step_outcome *ret_outcome)
{
    struct settlement settling = {
        .call = call,
        .rc = rc,
        .outcome.row = {.seq = call->seq,
                        .key = call->step->key,
                        .action = call->step->action,
                        .status = STATUS_STEP_SUCCEEDED,
                        .started_ms = call->started_ms,
                        .finished_ms = job_now_ms(call->job)},
    };

    if (jr_is_large(call->output) || jr_is_large(call->input) || jr_is_large(call->log) ||
        jr_is_large(call->error.response))
        work_off_thread(call->task, step_row_settle, &settling);
    else
        step_row_settle(&settling);
    *ret_outcome = settling.outcome;
    return settling.rc;
}
