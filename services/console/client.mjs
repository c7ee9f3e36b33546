// Writes src/api/client.ts: the typed client with a model that has no entities, because the console learns the entities of its project
// from the API.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const client = readFileSync(new URL('../api-gateway/client/client.ts', import.meta.url), 'utf8');
const out = new URL('src/api/client.ts', import.meta.url);
const text = `export const modelVersion = '';\n\nexport interface Project {}\n\n${client}`;
if (!existsSync(out) || readFileSync(out, 'utf8') !== text) writeFileSync(out, text);
