#pragma once
/*
 * Old history goes: jobs that ended long ago with their steps, events that everybody has taken. Of
 * this runner's share of the projects, beside everything else: a project with much of it keeps
 * nobody waiting.
 */
void retain_start(void);
void retain_stop(void);
