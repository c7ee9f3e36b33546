#pragma once
/* Shared by the files of tools. */
#include "areas/assistant/ai_tools.h"
#include "items/items_query.h"

/* One call of a tool. */
struct tool_call {
    struct task *task;
    struct caller *caller;
    struct records_ctx ctx;
    const struct entity *entity; /* set for tools of one entity */
    const json_t *arguments;
    struct query query;
    struct strbuf out;
    bool needs_confirmation; /* nothing was done yet: the user decides */
};

/* Decides when a result may be sent to a model again (ai_tools_history.c). */
enum ai_tool_rule {
    AI_TOOL_RECORDS,   /* records, each with its id */
    AI_TOOL_GROUPS,    /* aggregates of an entity's records */
    AI_TOOL_WORKFLOWS, /* names of workflows, and proposals */
    AI_TOOL_OTHER,
};
/* any: Reads the rule of a tool. False when no tool has this name. */
bool ai_tool_rule_read(struct str name, enum ai_tool_rule *ret_rule);

/* any: Replaces the result by an error. Returns 0. */
int ai_tool_refuse(struct tool_call *call, enum problem problem, struct str detail);
/* any: Replaces a result that has become too long by an error. Returns 0. */
int ai_tool_check_size(struct tool_call *call);

/* co: The tools that do not read the records of one entity. 0, or a negative. */
AWAITS int ai_tool_run_search(struct tool_call *call);
AWAITS int ai_tool_run_documentation(struct tool_call *call);
AWAITS int ai_tool_list_workflows(struct tool_call *call);
AWAITS int ai_tool_propose_workflow(struct tool_call *call);
