// The actions of the page, in one list. The palette offers them, keys run them, and the sheet of keys shows them.
import { untrack } from 'svelte';
import { settings } from '../settings.svelte.ts';

export interface Action {
  label: string;
  group: 'page' | 'go' | 'settings';
  /** One key (`c`), a chord (`g d`), or a key with Ctrl or Cmd (`mod+k`). */
  keys?: string;
  words?: string;
  /** The reason why the action is not possible now. */
  off?: string | undefined;
  run: () => void;
}

const CHORD_MS = 1200;
let sets = $state.raw<(() => Action[])[]>([]);
let pending = '';
let timer: ReturnType<typeof setTimeout> | undefined;

export function allActions(): Action[] {
  return sets.flatMap((list) => list());
}

/** Offers actions for as long as the component that calls this function is shown. */
export function useActions(list: () => Action[]): void {
  $effect(() => {
    untrack(() => (sets = [...sets, list]));
    return () => (sets = sets.filter((each) => each !== list));
  });
}

/** `target`: the innermost element; a field may be in a shadow root. */
function isTyping(target: EventTarget | undefined): boolean {
  return target instanceof Element && target.closest('input:not([type=checkbox]), textarea, select, [contenteditable=true], [role=menu], [role=listbox]') !== null;
}

function keyOf(event: KeyboardEvent): string {
  return event.ctrlKey || event.metaKey ? `mod+${event.key.toLowerCase()}` : event.key;
}

/** Runs the action of a key. Single keys and chords work only when no field has the focus, and can be switched off. */
export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const key = keyOf(event);
  const isSingle = !key.startsWith('mod+');
  const isInField = isTyping(event.composedPath()[0]);
  if (isSingle && (!settings.hasSingleKeys || isInField || document.querySelector('[role=alertdialog], [aria-modal=true]'))) return;
  // A field undoes its own changes.
  if (isInField && ['mod+z', 'mod+y'].includes(key)) return;
  const actions = allActions();
  const chord = pending ? `${pending} ${key}` : key;
  // The view that was shown last comes first.
  const action = actions.findLast((each) => each.keys === chord) ?? actions.findLast((each) => each.keys === key);
  const begins = isSingle && !pending && actions.some((each) => each.keys?.startsWith(`${key} `));
  clearTimeout(timer);
  pending = begins ? key : '';
  if (begins) timer = setTimeout(() => (pending = ''), CHORD_MS);
  if (!action || begins) return;
  event.preventDefault();
  if (!action.off) action.run();
}

const isMac = navigator.platform.startsWith('Mac');

/** The keys as a reader knows them. */
export function keyParts(keys: string): string[] {
  return keys.split(/[ +]/).map((part) => (part === 'mod' ? (isMac ? '⌘' : 'Ctrl') : part.length === 1 && keys.includes('+') ? part.toUpperCase() : part));
}
