#pragma once
/*
 * Receives events: verifies each over its raw bytes, checks that it is about this project, and
 * stores it once. The answer begins after the transaction has been committed.
 */
#include "http/req.h"

/* Call before fork: registers the metrics. */
void ingest_prepare(void);
/* co: Handlers of the two routes. r->scope->project is set. They return the status of the answer,
 * or a negative. */
AWAITS int ingest_processor(struct req *r);
AWAITS int ingest_store(struct req *r);
