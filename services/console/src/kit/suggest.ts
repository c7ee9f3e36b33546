// Completion of references such as $svc.trigger.data.name, in texts with {{ … }} and in texts that are a reference.

export interface Suggestion {
  path: string;
  /** Such as the type of a field. */
  note?: string;
}

/** template: references are in braces. reference: they are not. */
export type SuggestMode = 'template' | 'reference';

/** The place of the reference before the cursor; undefined: there is none. */
export function findReference(before: string, mode: SuggestMode): { from: number; hasBraces: boolean } | undefined {
  const open = before.lastIndexOf('{{');
  if (open >= 0 && !before.slice(open).includes('}}')) {
    const inside = /^\{\{\s*/.exec(before.slice(open))![0].length;
    return { from: open + inside, hasBraces: true };
  }
  const bare = /\$[\w$.[\]*"-]*$/.exec(before);
  return bare ? { from: bare.index, hasBraces: mode === 'reference' } : undefined;
}

/** The text that replaces the reference before the cursor; `after` is the text that follows the cursor. */
export function insertText(path: string, mode: SuggestMode, hasBraces: boolean, after: string): string {
  if (mode === 'reference') return path;
  return `${hasBraces ? '' : '{{ '}${path}${/^\s*\}\}/.test(after) ? '' : ' }}'}`;
}
