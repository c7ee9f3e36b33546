// node bullmq.mjs REDIS_SOCKET SECONDS
import { Queue, Worker } from "bullmq";
import { measure } from "./meter.mjs";

const [path, seconds] = process.argv.slice(2);
const connection = { path, maxRetriesPerRequest: null };
const queue = new Queue("noop", { connection, defaultJobOptions: { removeOnComplete: true } });
let done = 0;
const worker = new Worker("noop", async () => {}, { connection, concurrency: 100 });
worker.on("completed", () => done++);
await worker.waitUntilReady();
await measure(Number(seconds), (i) => queue.add("noop", { i }), () => done);
await worker.close();
await queue.close();
process.exit(0);
