#pragma once
/* Opens what a project has sealed. To seal: aead_seal(arena, &project->data_key, plain, place). */
#include "keys/place.h"
#include "project/project.h"

/* co: opens what the project sealed. Values of a key that this process does not know (another one
 * has begun to use it) make it read the keys again. 0 with the arena-owned plain text, AEAD_BAD, or
 * a negative. */
AWAITS int data_key_open(struct task *task,
                         struct project *project,
                         struct str sealed,
                         struct str place,
                         struct str *ret_plain) MUSTCHECK;
