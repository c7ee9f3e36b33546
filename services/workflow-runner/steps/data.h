#pragma once
/* Code that the data steps share: access to records with the rights of the workflow's editor. */
#include "records/records.h"
#include "step.h"

struct data_step {
    struct records_ctx ctx;
    const struct entity *entity;
};

/* co: Finds the entity that the step names, and checks that the editor may do `action` with its
 * records over the API. The checks are those of a request. 0 or STEP_FAILED. */
int data_find_entity(struct step_call *call, enum perm_action action, struct data_step *ret_data)
    MUSTCHECK;
/* co: Charges the chain of events for records that the step is about to make. Only jobs that were
 * started by events of other jobs are charged. 0, STEP_FAILED (with fan_out_guard when the chain
 * exceeds its limit), or a negative. */
AWAITS int data_charge(struct step_call *call, size_t records) MUSTCHECK;
/* co: Opens call->tx for ctx.db, so that the records commit together with the step. Results of
 * step_begin(). */
AWAITS int data_begin(struct step_call *call, struct data_step *data) MUSTCHECK;
/* any: Translates a result of records.h into a result of a step. */
int data_translate_result(struct step_call *call, struct data_step *data, int rc) MUSTCHECK;
/* co: Reads the parameters filter, sort, fields, limit and page as a query (data_query.c). 0 or
 * STEP_FAILED. */
int data_read_query(struct step_call *call, struct data_step *data, struct records_query *ret_query)
    MUSTCHECK;
/* co: Reads a parameter of names, "id,name" or ["id", "name"]. *ret_names is unchanged when the
 * parameter is not given. 0 or STEP_FAILED. */
int data_read_names(struct step_call *call, const char *name, struct str *ret_names) MUSTCHECK;
/* any: Sets call->output to {"data": records}, with the records of data->ctx.values. Returns 0. */
int data_set_output(struct step_call *call, const struct data_step *data) MUSTCHECK;
/* any: Sets a member of call->input. NULL adds no member. */
void data_set_input(struct step_call *call, const char *name, json_t *value);
/* any: Notes that listeners of `event`, if there are any, have to be notified after the commit. */
void data_notify(struct step_call *call, const struct data_step *data, enum event_kind event);
