// Jobs of one no-op step, enqueued one by one by 64 producers for some seconds, until the last one has completed.
export const PRODUCERS = 64;

// `enqueue(i)` resolves when the job is durable by the queue's own definition; `completed()` counts ended jobs.
export async function measure(seconds, enqueue, completed) {
  const begin = performance.now();
  const end = begin + seconds * 1000;
  let made = 0;
  await Promise.all(
    Array.from({ length: PRODUCERS }, async () => {
      while (performance.now() < end) await enqueue(made++);
    }),
  );
  const enqueued = performance.now();
  while (completed() < made) {
    if (performance.now() - enqueued > 120_000) throw new Error(`${completed()} of ${made} jobs after two minutes`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const whole = (performance.now() - begin) / 1000;
  console.log(JSON.stringify({ jobs: made, seconds: whole, rate: made / whole, enqueue_rate: (made * 1000) / (enqueued - begin) }));
}

// Messages to devices `begin` up to `end`; the first messages warm up connections and code.
export async function sent(count, send, warm = 1000) {
  await send(0, warm);
  const begin = performance.now();
  const cpu = process.cpuUsage();
  await send(warm, warm + count);
  const seconds = (performance.now() - begin) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  console.log(JSON.stringify({ messages: count, seconds, rate: count / seconds, cpu_us: (user + system) / count }));
}
