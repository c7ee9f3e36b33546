#pragma once
/* What the data steps share: records under the rights of the workflow's editor. */
#include "records/records.h"
#include "step.h"

struct data_step {
    struct records_ctx ctx;
    const struct entity *entity;
};

/* any: the entity that the step names, if the editor may do `action` with its records over the API:
 * the same questions as a request is asked. 0 or STEP_FAILED. */
int data_open(struct step_call *call, enum perm_action action, struct data_step *ret_data)
    MUSTCHECK;
/* co: charges the chain of events for records that the step is about to make: of jobs that events
 * of jobs have caused. 0, or STEP_FAILED with fan_out_guard when they are too many. */
AWAITS int data_charge(struct step_call *call, size_t records) MUSTCHECK;
/* co: the same in call->tx, which this opens; what is written then commits with the step. */
AWAITS int data_begin(struct step_call *call, struct data_step *data) MUSTCHECK;
/* any: a result of records.h as one of a step. */
int data_check(struct step_call *call, struct data_step *data, int rc) MUSTCHECK;
/* any: the parameters filter, sort, fields, limit and page as a query (data_query.c). */
int data_query(struct step_call *call, struct data_step *data, struct records_query *ret_query)
    MUSTCHECK;
/* any: names as "id,name" or ["id", "name"]; *ret_names stays as it is when there are none. */
int data_names(struct step_call *call, const char *name, struct str *ret_names) MUSTCHECK;
/* any: call->output = {"data": the records of data->ctx.values}. 0. */
int data_give(struct step_call *call, const struct data_step *data) MUSTCHECK;
/* any: call->input gets a member, NULL = none. */
void data_input(struct step_call *call, const char *name, json_t *value);
/* any: listeners are to be notified after the commit. */
void data_notify(struct step_call *call, const struct data_step *data, enum event_kind event);
