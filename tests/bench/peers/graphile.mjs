// node graphile.mjs POSTGRES_URL SECONDS [default]
import { makeWorkerUtils, run } from "graphile-worker";
import { measure } from "./meter.mjs";

const [url, seconds, mode] = process.argv.slice(2);
const { Logger } = await import("graphile-worker");
const logger = new Logger(() => (level, message) => level === "error" && console.error(message));
let done = 0;
const utils = await makeWorkerUtils({ connectionString: url, maxPoolSize: 24, logger });
await utils.migrate();
const runner = await run({
  connectionString: url,
  concurrency: 24,
  maxPoolSize: 16,
  pollInterval: 100,
  noHandleSignals: true,
  logger,
  // Batched: uses graphile's local queue and delayed, combined completions.
  preset: mode === "default" ? undefined
    : { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  taskList: { noop: async () => { done++; } },
});
await measure(Number(seconds), (i) => utils.addJob("noop", { i }), () => done);
await runner.stop();
await utils.release();
process.exit(0);
