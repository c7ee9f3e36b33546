#pragma once
/* Tasks of the runner itself. */
#include "loop/background.h"
