#pragma once
/*
 * The declarations that the files of the daemon share, and where each file sits.
 *
 * A project's index has one writer at a time: the process that holds the project's lease (work.c,
 * common/product/queue). The writer runs rounds (index.c) until no work is left. A round is:
 *
 *     reconcile.c   compares the generations (each a build of an entity's index) with the model
 *     live.c        indexes records that changed: rows of the outbox
 *     fan_out.c     indexes records that depend on a change of another row: rows of search_work
 *     build.c       builds generations that were requested, a page of records at a time
 *     drop.c        removes generations that are no longer used, and words that no record has
 *
 * A changed record takes this path. source.c reads it and cuts the fields that shape.c names into
 * terms. batch.c compares the terms with the record's forward list, which holds the terms that the
 * index has for the record. leaves_change.c adds the record's id to the posting lists of new terms
 * and removes it from those of old terms. words.c and lexicon_rows.c keep the rows of words. All
 * writes are one transaction.
 *
 * A build reads and cuts records in the same way, but it has nothing to compare. Its posting lists
 * stay in memory (postings.c) until they take GROUNDWORK_INDEX_BYTES. A posting list holds
 * the ids of the records that have a term in a field; it is stored in rows called leaves
 * (common/product/search/leaf.h).
 */
#include "app/daemon.h"
#include "project/project.h"

/* clang-format off: declares struct app_conf from config.def */
#include "conf/conf_struct.h"
/* clang-format on */

/* any: The configuration, the directory of projects and the message bus of this process. Borrowed
 * for the life of the process. */
const struct app_conf *indexer_conf(void);
struct directory *indexer_directory(void);
struct bus *indexer_bus(void);
