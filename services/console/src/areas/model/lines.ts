// A field as one typed line, such as `price: float! min 0 = 1` or `author -> authors set null`.
import { exactNumber, isExact, isSame, numberText, parseJson, type Exact } from '../../api/json.ts';
import { TIME_OF_DAY, UUID, type Entity, type Enumeration, type Field, type FieldType } from '../../api/model.ts';
import { m } from './strings.en.ts';

export type OnDelete = 'restrict' | 'set_null' | 'cascade';
type Bound = number | Exact;

export interface Options {
  max_length?: number;
  min?: Bound;
  max?: Bound;
  enum?: string;
  entity?: string;
  many?: boolean;
  on_delete?: OnDelete;
  search_weight?: number;
}

/** A field with the values that the service gives to options that are left out. */
export interface FieldSpec {
  name: string;
  type: FieldType;
  required: boolean;
  unique: boolean;
  indexed: boolean;
  searchable: boolean;
  public: boolean;
  default: unknown;
  options: Options;
}

/** The names that a line may use. Without `enums` the caller may not list enums. */
export interface Names {
  entities: readonly Pick<Entity, 'name'>[];
  enums: readonly Pick<Enumeration, 'name' | 'values'>[] | undefined;
  /** The entity of the line, which may not exist yet. */
  self?: string | undefined;
}

export class LineProblem extends Error {}

const LENGTH = 255;
const NAME = /^[a-z][a-z0-9_]{0,47}$/;

// --- types ---

interface Kind {
  note: string;
  has: readonly ('length' | 'bounds' | 'index' | 'open')[];
  /** Reads a default; undefined: the text is no value of the type. Without the function the type has no default. */
  read?: (text: string, values: readonly string[] | undefined) => unknown;
  /** The values of a default, for a list of choices. */
  values?: readonly string[];
  expected?: string;
}

const quoted = (text: string) => {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
};
const readText = (text: string) => (text.startsWith('"') ? quoted(text) : text);
const readNumber = (form: RegExp) => (text: string) => (form.test(text) ? exactNumber(text) : undefined);
const readIf = (form: RegExp) => (text: string) => (form.test(text) ? text : undefined);
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const WHOLE = /^-?(0|[1-9]\d*)$/;

const number = (form: RegExp, note: string, expected: string): Kind => ({ note, has: ['bounds', 'index', 'open'], read: readNumber(form), expected });

export const TYPES: Record<FieldType, Kind> = {
  varchar: { note: m('typeVarchar'), has: ['length', 'index', 'open'], read: readText, expected: m('expectedText') },
  text: { note: m('typeText'), has: ['length', 'index', 'open'], read: readText, expected: m('expectedText') },
  integer: number(WHOLE, m('typeInteger'), m('expectedWhole')),
  float: number(NUMBER, m('typeFloat'), m('expectedNumber')),
  decimal: number(NUMBER, m('typeDecimal'), m('expectedNumber')),
  bool: { note: m('typeBool'), has: ['open'], read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined), values: ['true', 'false'], expected: m('expectedBool') },
  date: { note: m('typeDate'), has: ['index', 'open'], read: readIf(/^\d{4}-\d\d-\d\d$/), expected: m('expectedDate') },
  datetime: { note: m('typeDatetime'), has: ['index', 'open'], read: readIf(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i), expected: m('expectedDatetime') },
  time: { note: m('typeTime'), has: ['index', 'open'], read: readIf(TIME_OF_DAY), expected: m('expectedTime') },
  uuid: { note: m('typeUuid'), has: ['index', 'open'], read: readIf(UUID), expected: m('expectedUuid') },
  json: {
    note: m('typeJson'), has: ['open'], expected: m('expectedJson'),
    read: (text) => {
      try {
        return parseJson(text);
      } catch {
        return undefined;
      }
    },
  },
  enum: {
    note: m('typeEnum'), has: ['index', 'open'], expected: m('expectedValue'),
    read: (text, values) => {
      const value = readText(text);
      return value !== undefined && (!values || values.includes(value)) ? value : undefined;
    },
  },
  file: { note: m('typeFile'), has: ['open'] },
  relation: { note: m('typeRelation'), has: ['index', 'open'] },
  secret: { note: m('typeSecret'), has: [] },
};

const has = (field: FieldSpec, what: Kind['has'][number]) => TYPES[field.type].has.includes(what) && !(what === 'index' && field.options.many);

// --- words after the type ---

interface Word {
  word: string;
  note: string;
  /** The word has a number after it. */
  takes?: 'whole' | 'number';
  fits: (field: FieldSpec) => boolean;
  set: (field: FieldSpec, value: Bound) => void;
  /** The words that print the field, if the field has the property. */
  print: (field: FieldSpec) => string | undefined;
}

const flag = (word: 'required' | 'unique' | 'indexed' | 'searchable' | 'public', note: string, fits: Word['fits']): Word => ({
  word, note, fits, set: (field) => (field[word] = true), print: (field) => (field[word] && word !== 'required' ? word : undefined),
});
const bound = (word: 'min' | 'max', note: string): Word => ({
  word, note, takes: 'number', fits: (field) => has(field, 'bounds'), set: (field, value) => (field.options[word] = value),
  print: (field) => (field.options[word] === undefined ? undefined : `${word} ${numberText(field.options[word])}`),
});
const rule = (word: string, value: OnDelete, note: string): Word => ({
  word, note,
  fits: (field) => field.type === 'relation' && (value !== 'cascade' || !field.options.many) && !(value === 'set_null' && field.required && !field.options.many),
  set: (field) => (field.options.on_delete = value),
  print: (field) => (field.options.on_delete === value && value !== ruleOf(field.options.many) ? word : undefined),
});
const ruleOf = (many: boolean | undefined): OnDelete => (many ? 'set_null' : 'restrict');

export const WORDS: readonly Word[] = [
  flag('required', m('wordRequired'), () => true),
  flag('unique', m('wordUnique'), (field) => has(field, 'index')),
  flag('indexed', m('wordIndexed'), (field) => has(field, 'index')),
  bound('min', m('wordMin')),
  bound('max', m('wordMax')),
  rule('restrict', 'restrict', m('wordRestrict')),
  rule('set null', 'set_null', m('wordSetNull')),
  rule('cascade', 'cascade', m('wordCascade')),
  flag('searchable', m('wordSearchable'), (field) => has(field, 'open')),
  {
    word: 'weight', note: m('wordWeight'), takes: 'whole', fits: (field) => has(field, 'open'),
    set: (field, value) => (field.options.search_weight = Number(value)),
    print: (field) => (field.options.search_weight ? `weight ${field.options.search_weight}` : undefined),
  },
  flag('public', m('wordPublic'), (field) => has(field, 'open')),
];

// --- fields of the API ---

const MEMBERS = ['name', 'type', 'required', 'unique', 'indexed', 'searchable', 'public', 'default'] as const;

function fill(options: Options, type: FieldType): Options {
  const filled: Options = { ...options };
  if (type === 'varchar') filled.max_length ??= LENGTH;
  if (type === 'relation') {
    filled.many ??= false;
    filled.on_delete ??= ruleOf(filled.many);
  }
  for (const key of Object.keys(filled) as (keyof Options)[]) if (filled[key] === null || filled[key] === undefined) delete filled[key];
  if (!filled.search_weight) delete filled.search_weight;
  return filled;
}

export function specOf(field: Field): FieldSpec {
  const { name, type, required, unique, indexed, searchable = false, public: isPublic = false, options } = field;
  return { name, type, required, unique, indexed, searchable, public: isPublic, default: field.default ?? null, options: fill(options as Options, type) };
}

/** The body that creates the field, without members that are the service's defaults. */
export function createBody(field: FieldSpec): Record<string, unknown> {
  const options = Object.fromEntries(Object.entries(field.options).filter(([key, value]) =>
    !(key === 'many' && !value) && !(key === 'on_delete' && value === ruleOf(field.options.many)) && !(field.type === 'varchar' && key === 'max_length' && value === LENGTH)));
  const body = Object.fromEntries(MEMBERS.map((name) => [name, field[name]] as const).filter(([, value]) => value !== false && value !== null));
  if (field.default === false) body.default = false;
  return Object.keys(options).length > 0 ? { ...body, options } : body;
}

/** The body that changes a field: only members that differ. A new type has all options of its own, because the service clears the old ones. */
export function updateBody(old: FieldSpec, next: FieldSpec): Record<string, unknown> {
  const isRetyped = old.type !== next.type;
  const body: Record<string, unknown> = Object.fromEntries(MEMBERS.filter((name) => !isSame(old[name], next[name])).map((name) => [name, next[name]]));
  if (isRetyped && next.default !== null) body.default = next.default;
  const keys = [...new Set([...Object.keys(old.options), ...Object.keys(next.options)])] as (keyof Options)[];
  const options: Record<string, unknown> = {};
  for (const key of keys) {
    const isGiven = next.options[key] !== undefined;
    if (isRetyped ? isGiven : !isSame(old.options[key], next.options[key])) options[key] = next.options[key] ?? null;
    else if (isRetyped && old.options[key] !== undefined && has(next, 'bounds') && (key === 'min' || key === 'max')) options[key] = null;
  }
  if (isRetyped && old.options.search_weight && !next.options.search_weight) options.search_weight = null;
  return Object.keys(options).length > 0 ? { ...body, options } : body;
}

// --- print ---

function printDefault(field: FieldSpec): string {
  const value = field.default;
  if (typeof value === 'string' && field.type !== 'json') return /^[^"\s]([^\n\r]*\S)?$/.test(value) ? value : JSON.stringify(value);
  return typeof value === 'number' || isExact(value) ? numberText(value) : JSON.stringify(value);
}

/** The parts of a line: the name, its type with the mark of a required field, and the words after it. */
export function lineParts(field: FieldSpec): { name: string; mark: string; type: string; words: string } {
  const { type, options } = field;
  const shown = type === 'relation' ? options.entity! : type === 'enum' ? `enum(${options.enum ?? ''})` : type;
  const length = options.max_length !== undefined && !(type === 'varchar' && options.max_length === LENGTH) ? String(options.max_length) : undefined;
  const words = [length, ...WORDS.map((word) => word.print(field))].filter((each) => each !== undefined);
  if (field.default !== null) words.push(`= ${printDefault(field)}`);
  return { name: field.name, mark: type === 'relation' ? (options.many ? ' ->> ' : ' -> ') : ': ', type: shown + (field.required ? '!' : ''), words: words.join(' ') };
}

export function printLine(field: FieldSpec): string {
  const { name, mark, type, words } = lineParts(field);
  return `${name}${mark}${type}${words && ` ${words}`}`;
}

// --- parse ---

interface Token {
  text: string;
  end: number;
}

const TOKEN = /->>|->|[:!()=]|(?:(?!->)[^\s:!()=])+/g;

/** The tokens before the first `=`, and the text after it. */
function tokensOf(text: string): { tokens: Token[]; fallback: string | undefined } {
  const tokens: Token[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const end = match.index + match[0].length;
    if (match[0] === '=') return { tokens, fallback: text.slice(end).trim() };
    tokens.push({ text: match[0], end });
  }
  return { tokens, fallback: undefined };
}

const emptySpec = (name: string, type: FieldType): FieldSpec => ({
  name, type, required: false, unique: false, indexed: false, searchable: false, public: false, default: null, options: {},
});

class Reader {
  readonly #tokens: Token[];
  readonly #names: Names;
  #at = 0;

  constructor(tokens: Token[], names: Names) {
    this.#tokens = tokens;
    this.#names = names;
  }

  next(): string | undefined {
    return this.#tokens[this.#at++]?.text;
  }

  peek(): string | undefined {
    return this.#tokens[this.#at]?.text;
  }

  readHead(): FieldSpec {
    const name = this.next();
    if (!name || !NAME.test(name)) throw new LineProblem(m('expectName'));
    const mark = this.next();
    if (mark === '->' || mark === '->>') return this.#readTarget(name, mark === '->>');
    if (mark !== ':') throw new LineProblem(m('expectMark'));
    return this.#readType(name);
  }

  #readTarget(name: string, many: boolean): FieldSpec {
    const entity = this.next();
    const known = this.#names.entities.map((each) => each.name);
    if (!entity || !(known.includes(entity) || entity === this.#names.self)) throw new LineProblem(m('expectEntity', { names: listOf(known) }));
    return { ...emptySpec(name, 'relation'), options: { entity, many } };
  }

  #readType(name: string): FieldSpec {
    const type = this.next();
    if (type === 'relation') throw new LineProblem(m('expectArrow', { name }));
    if (!type || !(type in TYPES)) throw new LineProblem(m('expectType', { types: Object.keys(TYPES).filter((each) => each !== 'relation').join(', ') }));
    const field = emptySpec(name, type as FieldType);
    const argument = this.#readArgument();
    if (field.type === 'enum') {
      const known = this.#names.enums?.map((each) => each.name);
      if (!argument || (known && !known.includes(argument))) throw new LineProblem(known?.length === 0 ? m('expectEnumNone') : m('expectEnum', { names: listOf(known ?? []) }));
      field.options.enum = argument;
    } else if (argument !== undefined) setLength(field, argument);
    return field;
  }

  #readArgument(): string | undefined {
    if (this.peek() !== '(') return undefined;
    this.next();
    const argument = this.next();
    if (!argument || argument === ')' || this.next() !== ')') throw new LineProblem(m('expectClosed'));
    return argument;
  }

  readWord(field: FieldSpec): void {
    const text = this.next()!;
    const joined = text === 'set' && this.peek() === 'null' ? `set ${this.next()}` : text === '!' ? 'required' : text === 'set_null' ? 'set null' : text;
    const word = WORDS.find((each) => each.word === joined);
    if (!word && WHOLE.test(text)) return setLength(field, text);
    if (!word || !word.fits(field)) throw new LineProblem(m('expectWord', { got: joined, words: wordsFor(field) }));
    const value = word.takes && this.next();
    if (word.takes && !(value && (word.takes === 'whole' ? /^\d{1,9}$/ : NUMBER).test(value))) throw new LineProblem(m('expectNumberAfter', { word: joined }));
    word.set(field, value ? exactNumber(value) : 0);
  }

  get isDone(): boolean {
    return this.#at >= this.#tokens.length;
  }
}

const listOf = (names: readonly string[]) => (names.length > 8 ? `${names.slice(0, 8).join(', ')}, …` : names.join(', '));
const wordsFor = (field: FieldSpec) => [has(field, 'length') ? m('lengthWord') : undefined, '!', ...WORDS.filter((each) => each.fits(field) && each.word !== 'required').map((each) => each.word), TYPES[field.type].read ? '=' : undefined].filter(Boolean).join(', ');

function setLength(field: FieldSpec, text: string): void {
  if (!has(field, 'length')) throw new LineProblem(m('expectWord', { got: text, words: wordsFor(field) }));
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new LineProblem(m('expectLength'));
  field.options.max_length = Number(text);
}

function readDefault(field: FieldSpec, text: string, names: Names): unknown {
  const kind = TYPES[field.type];
  if (!kind.read) throw new LineProblem(m('noDefault', { type: field.type }));
  const values = field.type === 'enum' ? names.enums?.find((each) => each.name === field.options.enum)?.values : undefined;
  const value = text === '' ? undefined : kind.read(text, values);
  if (value === undefined) throw new LineProblem(m('expectDefault', { expected: values ? listOf(values) : kind.expected! }));
  return value;
}

/** Reads a line. Throws a LineProblem that names the words expected at its position. */
export function parseLine(text: string, names: Names): FieldSpec {
  const { tokens, fallback } = tokensOf(text);
  const reader = new Reader(tokens, names);
  const field = reader.readHead();
  while (!reader.isDone) reader.readWord(field);
  if (fallback !== undefined) field.default = readDefault(field, fallback, names);
  return { ...field, options: fill(field.options, field.type) };
}

export function tryLine(text: string, names: Names): { field?: FieldSpec; problem?: string } {
  try {
    return { field: parseLine(text, names) };
  } catch (error) {
    if (error instanceof LineProblem) return { problem: error.message };
    throw error;
  }
}

/** The lines of a pasted text. Commas and semicolons at the end of a line, as of other languages, are left out. */
export function splitLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => line.trim().replace(/[,;]$/, '')).filter((line) => line !== '');
}

// --- hints ---

export interface Hint {
  text: string;
  note: string;
}

export interface Hints {
  /** Where the chosen text begins; it ends at the caret. */
  from: number;
  choices: Hint[];
}

const MARKS: Hint[] = [{ text: ': ', note: m('markType') }, { text: '-> ', note: m('markOne') }, { text: '->> ', note: m('markMany') }];

function headOf(before: string, names: Names): FieldSpec | undefined {
  const { tokens } = tokensOf(before);
  const reader = new Reader(tokens, names);
  try {
    const field = reader.readHead();
    while (!reader.isDone) reader.readWord(field);
    return field;
  } catch {
    return undefined;
  }
}

function choicesAfter(before: string, names: Names): Hint[] {
  const named = (list: readonly { name: string }[], note: string) => list.map((each) => ({ text: each.name, note }));
  if (/^\s*[a-z]\w*\s+$/.test(before)) return MARKS;
  if (/->>?\s*$/.test(before)) return named([...names.entities, ...(names.self && !names.entities.some((each) => each.name === names.self) ? [{ name: names.self }] : [])], m('noteEntity'));
  if (/^\s*\w+\s*:\s*$/.test(before)) {
    const plain = Object.entries(TYPES).filter(([type]) => type !== 'relation' && type !== 'enum').map(([type, kind]) => ({ text: type, note: kind.note }));
    return [...plain, ...(names.enums ?? []).map((each) => ({ text: `enum(${each.name})`, note: listOf(each.values.slice(0, 3)) })), ...(names.enums ? [] : [{ text: 'enum(', note: TYPES.enum.note }])];
  }
  if (/:\s*enum\(\s*$/.test(before)) return (names.enums ?? []).map((each) => ({ text: `${each.name})`, note: listOf(each.values.slice(0, 3)) }));
  const field = headOf(before, names);
  if (!field) return [];
  if (/=\s*$/.test(before)) {
    const values = field.type === 'enum' ? names.enums?.find((each) => each.name === field.options.enum)?.values : TYPES[field.type].values;
    return (values ?? []).map((text) => ({ text, note: '' }));
  }
  if (before.includes('=') || !/[\s!)]$/.test(before)) return [];
  const words = WORDS.filter((each) => each.fits(field) && each.print(field) === undefined && !(each.word === 'required' && field.required));
  return [...words.map((each) => ({ text: each.word + (each.takes ? ' ' : ''), note: each.note })), ...(TYPES[field.type].read ? [{ text: '= ', note: m('wordDefault') }] : [])];
}

/** The choices at the caret that begin as the typed word does. */
export function hintsAt(text: string, caret: number, names: Names): Hints {
  const head = text.slice(0, caret);
  const word = /=\s*([^=]*)$/.exec(head)?.[1] ?? /[\w-]*$/.exec(head)![0];
  const arrow = /^\s*[a-z]\w*\s+(->?>?)$/.exec(head)?.[1];
  const typed = arrow ?? (word === '-' ? '' : word);
  const from = caret - typed.length;
  const choices = choicesAfter(head.slice(0, from), names).filter((each) => each.text.startsWith(typed) && each.text.trim() !== typed);
  return { from, choices };
}
