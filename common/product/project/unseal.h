#pragma once
/* Opens values that a project has sealed. To seal: aead_seal(arena, &project->data_key, plain,
 * place). */
#include "keys/sealed_aad.h"
#include "project/project.h"

/* co: opens a sealed value. If its key is unknown to this process, because another process has
 * added the key, reads the keys again first. Returns 0 with the plain text in the task's arena,
 * AEAD_BAD, or a negative. */
AWAITS int data_key_open(struct task *task,
                         struct project *project,
                         struct str sealed,
                         struct str place,
                         struct str *ret_plain) MUSTCHECK;
