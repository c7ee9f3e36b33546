/// <reference types="node" />
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { budgets } from './budgets.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

// The gateway serves auth.html below the address of each project, so this page names its files relative to itself. It is small
// because it is built alone (--mode auth): files that it shared with the console would hold what only the console uses.
const OWN_PAGE = 'auth.html';

export default defineConfig(({ mode }) => {
  const isOwn = mode === 'auth';
  return {
    base: isOwn ? './' : '/console/',
    plugins: [svelte({ configFile: false }), budgets()],
    // The budgets are printed in any case.
    logLevel: 'warn',
    build: {
      outDir: process.env.CONSOLE_OUT ?? `${here}../../build/console`,
      emptyOutDir: !isOwn,
      target: 'es2022',
      // The policy allows neither data: scripts and styles nor the inline script of the polyfill.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // Each page in this folder is an entry of its own.
      rolldownOptions: {
        checks: { pluginTimings: false },
        input: readdirSync(here)
          .filter((name) => name.endsWith('.html') && (name === OWN_PAGE) === isOwn)
          .map((name) => here + name),
      },
    },
  };
});
