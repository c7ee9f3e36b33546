// Each text is used, and each text follows the rules for texts. (The compiler checks that each text exists.)
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../../src', import.meta.url));
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(ts|svelte)$/.test(name));
const read = (name: string) => readFileSync(join(source, name), 'utf8');

for (const table of files.filter((name) => name.endsWith('strings.en.ts'))) {
  test(`every text of ${table} is used`, () => {
    const folder = table.includes('areas/') ? table.replace(/[^/]+$/, '') : '';
    const text = files.filter((name) => name.startsWith(folder) && name !== table).map(read).join('\n');
    const texts = read(table).split('\n});')[0]!;
    const keys = [...texts.matchAll(/^ {2}([a-zA-Z]+): /gm)].map((match) => match[1]!);
    assert.ok(keys.length > 5);
    // Keys of metrics are put together from the table of metrics.
    const unused = keys.filter((key) => !new RegExp(`\\b[thd]\\('${key}'|'${key}'`).test(text));
    assert.deepEqual(unused, []);
  });
}

test('no text of the service is inserted as HTML, and no style is written in markup', () => {
  for (const name of files.filter((each) => each.endsWith('.svelte'))) {
    assert.doesNotMatch(read(name), /\{@html|innerHTML|\sstyle="/, name);
  }
});
