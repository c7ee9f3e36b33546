#pragma once
/* What the files of tools share. */
#include "areas/assistant/ai_tools.h"
#include "areas/items/items_query.h"

/* One call. */
struct tool_call {
    struct task *task;
    struct caller *caller;
    struct records_ctx ctx;
    const struct entity *entity; /* of those that name one */
    const json_t *arguments;
    struct query query;
    struct strbuf out;
    bool waits; /* nothing was done: the user decides */
};

/* When what a tool told may be told again (ai_tools_past.c). */
enum ai_tool_rule {
    AI_TOOL_RECORDS,   /* records, each with its id */
    AI_TOOL_GROUPS,    /* what was made of an entity's records */
    AI_TOOL_WORKFLOWS, /* names of workflows, and proposals */
    AI_TOOL_OTHER,
};
/* any: false when there is no tool of this name. */
bool ai_tool_rule(struct str name, enum ai_tool_rule *ret_rule);

/* any: said in place of a result. 0. */
int ai_tool_refuse(struct tool_call *call, enum problem problem, struct str detail);
/* any: refuses what has become too long. 0. */
int ai_tool_told(struct tool_call *call);

/* The tools that are not about records. 0, or a negative. */
AWAITS int ai_tool_search(struct tool_call *call);
AWAITS int ai_tool_documentation(struct tool_call *call);
AWAITS int ai_tool_workflows(struct tool_call *call);
AWAITS int ai_tool_workflow(struct tool_call *call);
