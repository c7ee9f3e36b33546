// node scale.mjs FOLDER: writes model.ts, a model of 100 entities with 20 fields and 8 relations each that form cycles, and queries.ts,
// a list of 100 queries that follow three relations.
import { writeFileSync } from 'node:fs'

const [folder] = process.argv.slice(2)
const ENTITIES = 100
const TYPES = [
  'string',
  'number | null',
  'boolean | null',
  "'open' | 'paid' | null",
  'DateTime | null',
  'Decimal | null',
  'FileId | null',
  'Json | null',
]
const numbers = (count) => [...Array(count).keys()]

const entity = (n) => `  entity_${n}: {
    fields: { ${numbers(20)
      .map((i) => `field_${i}: ${TYPES[i % TYPES.length]};`)
      .join(' ')} };
    relations: { ${numbers(8)
      .map((i) => `to_${i}: { to: 'entity_${(n * 7 + i * 13 + 1) % ENTITIES}'; many: ${i % 4 === 3}; null: ${i % 4 !== 0} };`)
      .join(' ')} };
    required: 'field_0' | 'to_0'; readonly: 'field_1'; writeonly: never; unique: 'field_0';
  };`
const query = (n) => `  for (const each of (await gw.db.entity_${n}.list({
    filter: { field_1: { gt: ${n} }, to_0: { to_1: { to_2: { field_0: { contains: 'x' } } } } },
    sort: ['-field_4', 'to_1.field_0'], expand: ['to_0.to_1.to_2', 'to_3'],
  })).items) console.log(each.to_0.to_1?.to_2?.field_0, each.to_3[0]?.field_8);`

writeFileSync(
  `${folder}/model.ts`,
  `export const modelVersion = '1';
export interface Project {
${numbers(ENTITIES).map(entity).join('\n')}
}
`,
)
writeFileSync(
  `${folder}/queries.ts`,
  `import { createClient } from './client.js';
const gw = createClient('http://x');
export async function run() {
${numbers(ENTITIES).map(query).join('\n')}
}
`,
)
