// The code editor. The policy of the page refuses the style element that the editor adds to a page; in a shadow root the
// editor uses adopted style sheets.
import { autocompletion, completionKeymap, startCompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { Decoration, drawSelection, EditorView, keymap, lineNumbers, MatchDecorator, placeholder, ViewPlugin, type DecorationSet, type ViewUpdate } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { findReference, insertText, type Suggestion, type SuggestMode } from './suggest.ts';

export interface CodeOptions {
  mode: 'json' | 'text';
  suggests: SuggestMode | undefined;
  /** One line: Enter is left to the form. */
  isLine: boolean;
  value: string;
  placeholder: string;
  suggest: () => readonly Suggestion[];
  onchange: (value: string) => void;
  attributes: () => Record<string, string>;
  isReadOnly: boolean;
}

export interface CodeView {
  /** Shows another value, unless the editor has that value. */
  set: (value: string) => void;
  /** Applies the attributes and the state that have changed. */
  update: (isReadOnly: boolean) => void;
  focus: () => void;
  destroy: () => void;
}

const colors = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: tags.string, color: 'var(--ok)' },
]);

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--page)', border: '1px solid var(--edge)', borderRadius: '4px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { font: '13px/20px var(--mono)', maxHeight: 'var(--code-most, 320px)' },
  '.cm-content': { padding: '5px 0', caretColor: 'var(--text)', minHeight: 'var(--code-least, 0)' },
  '.cm-line': { padding: '0 8px' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--muted)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { background: 'color-mix(in srgb, var(--accent) 28%, transparent)' },
  '.cm-placeholder': { color: 'var(--muted)' },
  '.cm-reference': { color: 'var(--accent)', fontWeight: '600' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'transparent', outline: '1px solid var(--edge)' },
  '.cm-tooltip': { backgroundColor: 'var(--page)', border: '1px solid var(--line)', borderRadius: '8px', boxShadow: 'var(--shadow)', overflow: 'hidden' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { font: '13px/20px var(--mono)', maxHeight: '240px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '4px 8px', color: 'var(--text)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionDetail': { marginInlineStart: '12px', fontStyle: 'normal', fontFamily: 'system-ui, sans-serif' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
});

const references = new MatchDecorator({ regexp: /\{\{[^}]*\}\}|\$svc[\w.[\]*"-]*/g, decoration: Decoration.mark({ class: 'cm-reference' }) });
const marks = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = references.createDeco(view);
    }
    update(update: ViewUpdate) {
      this.decorations = references.updateDeco(update, this.decorations);
    }
  },
  { decorations: (value) => value.decorations },
);

function completeReference(options: CodeOptions): (context: CompletionContext) => CompletionResult | null {
  return ({ state, pos, explicit }) => {
    const mode = options.suggests!;
    const line = state.doc.lineAt(pos);
    const found = findReference(line.text.slice(0, pos - line.from), mode);
    if (!found && !explicit) return null;
    const from = line.from + (found?.from ?? pos - line.from);
    return {
      from,
      validFor: /^[\w$.[\]*"-]*$/,
      options: options.suggest().map(({ path, note }) => ({
        label: path,
        detail: note,
        apply: (view, _, start, end) => {
          const row = view.state.doc.lineAt(end);
          const text = insertText(path, mode, found?.hasBraces ?? false, row.text.slice(end - row.from));
          view.dispatch({ changes: { from: start, to: end, insert: text }, selection: { anchor: start + text.length }, userEvent: 'input.complete' });
        },
      })),
    };
  };
}

export function createCode(parent: ShadowRoot, options: CodeOptions): CodeView {
  const attributes = new Compartment();
  const access = new Compartment();
  const attributesNow = () => EditorView.contentAttributes.of(options.attributes());
  const accessNow = (isReadOnly: boolean): Extension => [EditorState.readOnly.of(isReadOnly), EditorView.editable.of(!isReadOnly)];
  let isSetting = false;
  const view = new EditorView({
    root: parent,
    parent,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        history(),
        drawSelection(),
        EditorView.lineWrapping,
        theme,
        syntaxHighlighting(colors),
        marks,
        options.mode === 'json' && !options.isLine ? [json(), lineNumbers(), indentOnInput(), bracketMatching()] : [],
        options.suggests ? autocompletion({ override: [completeReference(options)], icons: false, activateOnTypingDelay: 50 }) : [],
        // Enter in one line sends the form, and a pasted text becomes one line.
        options.isLine ? EditorState.transactionFilter.of((change) => (change.newDoc.lines > 1 ? { changes: { from: 0, to: change.startState.doc.length, insert: change.newDoc.toString().replaceAll('\n', ' ') } } : change)) : [],
        keymap.of([
          ...completionKeymap,
          ...(options.suggests ? [{ key: 'Ctrl-Space', run: startCompletion }] : []),
          ...(options.isLine ? [] : defaultKeymap.filter((each) => each.key !== 'Escape')),
          ...(options.isLine ? defaultKeymap.filter((each) => each.key !== 'Enter' && each.key !== 'Escape' && each.key !== 'Mod-Enter') : []),
          ...historyKeymap,
        ]),
        placeholder(options.placeholder),
        attributes.of(attributesNow()),
        access.of(accessNow(options.isReadOnly)),
        // Chromium keeps the style of a replaced selection in a style attribute, which the policy of the page refuses.
        EditorView.domEventHandlers({
          beforeinput: (event, own) => {
            if (event.inputType !== 'insertText' || event.data === null || event.isComposing || own.state.readOnly || own.state.selection.main.empty) return false;
            event.preventDefault();
            own.dispatch(own.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
            return true;
          },
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !isSetting) options.onchange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    set: (value) => {
      if (view.state.doc.toString() === value) return;
      isSetting = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
      isSetting = false;
    },
    update: (isReadOnly) => view.dispatch({ effects: [attributes.reconfigure(attributesNow()), access.reconfigure(accessNow(isReadOnly))] }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
