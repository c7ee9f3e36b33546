// Runs the end-to-end tests, or the files that are named: npm run test:e2e -- records. GATEWAY_URL and OPERATOR_TOKEN name a running
// gateway, in which each file creates a project and removes it.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const names = process.argv.slice(2).filter((name) => !name.startsWith('-'));
const options = process.argv.slice(2).filter((name) => name.startsWith('-'));
const files = readdirSync(folder).filter((name) => name.endsWith('.test.mjs') && (names.length === 0 || names.some((each) => name.startsWith(each))));
const { status } = spawnSync(process.execPath, ['--test', '--test-concurrency=1', '--test-reporter=spec', ...options, ...files.map((name) => folder + name)], { stdio: 'inherit' });
process.exit(status ?? 1);
