#pragma once
/* Bells: entries of the streams evt and job, and hints that a job was cancelled. */
void hear_start(void);
