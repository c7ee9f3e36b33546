// node sharp.mjs FILE COUNT AT_ONCE: makes COUNT variants of an image like a service would: from the bytes of the file to
// bytes, each in another size, AT_ONCE at a time.
import { readFileSync } from "node:fs";
import sharp from "sharp";

const [path, count, atOnce] = [process.argv[2], ...process.argv.slice(3).map(Number)];
sharp.cache(false);
const picture = readFileSync(path);

async function make(begin, end) {
  let next = begin;
  const slot = async () => {
    while (next < end) {
      const n = next++;
      await sharp(picture).rotate().resize(400 + (n % 50), 300 + Math.floor(n / 50), { fit: "cover" }).jpeg({ quality: 80 }).toBuffer();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, slot));
}

await make(0, 8);
const since = performance.now();
await make(8, 8 + count);
const seconds = (performance.now() - since) / 1000;
console.log(JSON.stringify({ messages: count, seconds, rate: count / seconds }));
