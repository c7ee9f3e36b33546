// A plugin of the build: writes .br and .gz next to each file, and fails when a part of the console outgrows its budget.
/// <reference types="node" />
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

// Kilobytes after Brotli. A page counts whole. An area counts without the files of the page that opens the area, and with
// its parts in WITH_PARTS, which are loaded on demand.
const PAGES: Record<string, number> = { 'index.html': 60, 'auth.html': 20 };
const AREAS: Record<string, number> = { home: 40, data: 60, model: 95, workflows: 160 };
const WITH_PARTS = ['areas/model/Diagram.svelte'];
const OTHER_AREA = 200;

interface Chunk {
  type: 'chunk';
  isEntry: boolean;
  facadeModuleId: string | null;
  imports: string[];
  dynamicImports: string[];
  viteMetadata?: { importedCss: Set<string> };
}

export function budgets(): Plugin {
  return {
    name: 'budgets',
    apply: 'build',
    writeBundle(options, bundle) {
      const sizes = new Map<string, number>();
      for (const name of Object.keys(bundle)) sizes.set(name, compressFile(join(options.dir ?? '.', name)));
      for (const name of ['theme.js', 'icon.svg']) sizes.set(name, compressFile(join(options.dir ?? '.', name)));

      const chunk = (name: string) => (bundle[name]?.type === 'chunk' ? (bundle[name] as unknown as Chunk) : undefined);
      const filesOf = (name: string, files = new Set<string>()): Set<string> => {
        const it = chunk(name);
        if (!it || files.has(name)) return files;
        files.add(name);
        it.viteMetadata?.importedCss.forEach((css) => files.add(css));
        it.imports.forEach((other) => filesOf(other, files));
        return files;
      };
      const total = (files: Iterable<string>) => [...files].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0) / 1024;

      const rows: [string, number, number][] = [];
      let shell = new Set<string>();
      for (const name of Object.keys(bundle)) {
        const page = chunk(name)?.isEntry ? chunk(name)?.facadeModuleId?.split('/').pop() : undefined;
        if (!page) continue;
        const files = filesOf(name).add(page).add('theme.js');
        if (page === 'index.html') shell = files;
        rows.push([page, total(files), PAGES[page] ?? OTHER_AREA]);
      }
      for (const name of Object.keys(bundle)) {
        const area = /\/src\/areas\/([^/]+)\/index\.ts$/.exec(chunk(name)?.facadeModuleId ?? '')?.[1];
        if (!area) continue;
        const files = filesOf(name);
        const parts = chunk(name)!.dynamicImports.filter((part) => WITH_PARTS.some((path) => chunk(part)?.facadeModuleId?.endsWith(path)));
        parts.forEach((part) => filesOf(part, files));
        const own = [...files].filter((file) => !shell.has(file));
        rows.push([area, total(own), AREAS[area] ?? OTHER_AREA]);
      }
      for (const [name, size, limit] of rows) {
        const line = `${name.padEnd(12)} ${size.toFixed(1).padStart(6)} KB of ${limit}`;
        if (size > limit) this.error(`over budget: ${line}`);
        console.log(line);
      }
    },
  };
}

/** Writes the compressed forms of a file and returns the size of the Brotli form in bytes. */
function compressFile(path: string): number {
  const bytes = readFileSync(path);
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
  writeFileSync(`${path}.br`, brotli);
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  return brotli.length;
}
