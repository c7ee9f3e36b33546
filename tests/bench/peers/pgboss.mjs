// node pgboss.mjs POSTGRES_URL SECONDS
import PgBoss from "pg-boss";
import { measure } from "./meter.mjs";

const [url, seconds] = process.argv.slice(2);
const boss = new PgBoss({ connectionString: url, max: 32 });
boss.on("error", (error) => console.error(error.message));
await boss.start();
await boss.createQueue("noop");
let done = 0;
// The shortest poll interval that it allows, large batches, several pollers: its fastest configuration here.
for (let i = 0; i < 4; i++)
  await boss.work("noop", { batchSize: 1000, pollingIntervalSeconds: 0.5 }, async (jobs) => {
    done += jobs.length;
  });
await measure(Number(seconds), (i) => boss.send("noop", { i }), () => done);
await boss.stop({ graceful: false });
process.exit(0);
