// The next times of a cron expression in a time zone, by the rules of the service: an expression that names hours runs
// once for each local time, and one for every hour runs by elapsed time.

interface FieldRule {
  name: string;
  min: number;
  max: number;
  /** The end of * and of n/step: 7 is Sunday again. */
  end: number;
  names?: string;
  first?: number;
}

const FIELDS: readonly FieldRule[] = [
  { name: 'minute', min: 0, max: 59, end: 59 },
  { name: 'hour', min: 0, max: 23, end: 23 },
  { name: 'day of month', min: 1, max: 31, end: 31 },
  { name: 'month', min: 1, max: 12, end: 12, names: 'janfebmaraprmayjunjulaugsepoctnovdec', first: 1 },
  { name: 'day of week', min: 0, max: 7, end: 6, names: 'sunmontuewedthufrisat', first: 0 },
];

export interface Cron {
  minutes: ReadonlySet<number>;
  hours: ReadonlySet<number>;
  days: ReadonlySet<number>;
  months: ReadonlySet<number>;
  weekdays: ReadonlySet<number>;
  isAnyDay: boolean;
  isAnyWeekday: boolean;
}

function readValue(field: FieldRule, text: string): number {
  const names: readonly string[] = field.names?.match(/.../g) ?? [];
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return field.first! + named;
  if (!/^\d+$/.test(text)) throw new Error(`${field.name}: “${text}” is not a number${field.names ? ' or a name' : ''}`);
  const value = Number(text);
  if (value < field.min || value > field.max) throw new Error(`${field.name}: ${text} is not between ${field.min} and ${field.max}`);
  return value;
}

function readRange(field: FieldRule, text: string, isStepped: boolean): [low: number, high: number] {
  if (text === '*') return [field.min, field.end];
  const [first = '', last] = text.split(/-(.*)/s);
  const low = readValue(field, first);
  if (last === undefined) return [low, isStepped && low < field.end ? field.end : low];
  let high = readValue(field, last);
  // In fri-sun, sun ends the week.
  if (field.max === 7 && high === 0 && low > 0 && !/^\d+$/.test(last)) high = 7;
  if (low > high) throw new Error(`${field.name}: the range ${text} ends before it starts`);
  return [low, high];
}

function readField(field: FieldRule, text: string): Set<number> {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    if (item === '') throw new Error(`${field.name}: an item of the list is empty`);
    const [range = '', stepText] = item.split(/\/(.*)/s);
    const step = stepText === undefined ? 1 : Number(/^\d+$/.test(stepText) ? stepText : NaN);
    if (!(step >= 1 && step <= field.max)) throw new Error(`${field.name}: the step ${stepText} is not between 1 and ${field.max}`);
    const [low, high] = readRange(field, range, stepText !== undefined);
    for (let value = low; value <= high; value += step) values.add(value);
  }
  return values;
}

const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Throws an error that names the wrong field. */
export function parseCron(text: string): Cron {
  const parts = text.split(/[ \t]+/).filter((part) => part !== '');
  if (parts.length !== 5) throw new Error(`must have 5 fields, not ${parts.length}`);
  const [minutes, hours, days, months, weekdays] = FIELDS.map((field, at) => readField(field, parts[at]!)) as [Set<number>, Set<number>, Set<number>, Set<number>, Set<number>];
  if (weekdays.delete(7)) weekdays.add(0);
  const cron = { minutes, hours, days, months, weekdays, isAnyDay: parts[2]!.startsWith('*'), isAnyWeekday: parts[4]!.startsWith('*') };
  const hasDay = (!cron.isAnyDay && !cron.isAnyWeekday) || [...months].some((month) => [...days].some((day) => day <= LONGEST[month - 1]!));
  if (!hasDay) throw new Error('none of its months has such a day');
  return cron;
}

// --- time zones ---

const MINUTE = 60_000;
const DAY_MINUTES = 1440;
const HORIZON = 8 * 366 * DAY_MINUTES;
const LOOKBACK = 52 * 60;
const STRIDE = DAY_MINUTES;
const SPAN = 400 * DAY_MINUTES;

type Offsets = (minute: number) => number;

/** The offset of a zone from UTC, in minutes, at a minute since 1970. Throws for an unknown zone. */
function offsetsOf(zone: string): Offsets {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' });
  const known = new Map<number, number>();
  return (minute) => {
    const cached = known.get(minute);
    if (cached !== undefined) return cached;
    const part = Object.fromEntries(format.formatToParts(minute * MINUTE).map(({ type, value }) => [type, Number(value)]));
    const offset = Date.UTC(part.year!, part.month! - 1, part.day, part.hour, part.minute) / MINUTE - minute;
    known.set(minute, offset);
    return offset;
  };
}

/** The first minute in (from, to] with another offset than `from`, in steps of a day; or to + 1. */
function findChange(offset: Offsets, from: number, to: number): number {
  const own = offset(from);
  for (let at = from; at < to; at += STRIDE) {
    let [low, high] = [at, Math.min(at + STRIDE, to)];
    if (offset(high) === own) continue;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offset(middle) === own) low = middle;
      else high = middle;
    }
    return high;
  }
  return to + 1;
}

/** The latest local minute that the clock showed before a minute: a repeated local time is not later. */
function latestLocal(offset: Offsets, before: number): number {
  let latest = before - 1 + offset(before - 1);
  for (let at = before - LOOKBACK; at < before; ) {
    const end = findChange(offset, at, before - 1);
    latest = Math.max(latest, end - 1 + offset(at));
    at = end;
  }
  return latest;
}

function matchesDay(cron: Cron, day: number): boolean {
  const date = new Date(day * DAY_MINUTES * MINUTE);
  if (!cron.months.has(date.getUTCMonth() + 1)) return false;
  const byDay = cron.days.has(date.getUTCDate());
  const byWeekday = cron.weekdays.has(date.getUTCDay());
  return cron.isAnyDay || cron.isAnyWeekday ? byDay && byWeekday : byDay || byWeekday;
}

/** The first matching local minute in [from, to]. */
function nextLocal(cron: Cron, from: number, to: number): number | undefined {
  for (let at = from; at <= to; ) {
    const day = Math.floor(at / DAY_MINUTES);
    const inDay = at - day * DAY_MINUTES;
    if (!matchesDay(cron, day)) {
      at = (day + 1) * DAY_MINUTES;
      continue;
    }
    if (cron.hours.has(Math.floor(inDay / 60)) && cron.minutes.has(inDay % 60)) return at;
    at = cron.hours.has(Math.floor(inDay / 60)) ? at + 1 : at - (inDay % 60) + 60;
  }
  return undefined;
}

/** The first matching minute after a time, or undefined when no minute within eight years matches. Both are milliseconds. */
export function nextTime(cron: Cron, offset: Offsets, after: number): number | undefined {
  let minute = Math.floor(after / MINUTE) + 1;
  const limit = minute + HORIZON;
  const isEveryHour = cron.hours.size === 24;
  let latest = latestLocal(offset, minute);
  while (minute < limit) {
    const end = findChange(offset, minute, Math.min(limit, minute + SPAN));
    const shown = minute + offset(minute);
    const to = end - 1 + offset(end - 1);
    const found = nextLocal(cron, isEveryHour ? shown : latest + 1, to);
    // A local time that the clock skipped is due at once.
    if (found !== undefined) return (minute + Math.max(0, found - shown)) * MINUTE;
    latest = Math.max(latest, to);
    minute = end;
  }
  return undefined;
}

/** The next times of an expression. Throws an error that names the wrong part. */
export function nextTimes(text: string, zone: string, count: number, after = Date.now()): Date[] {
  const cron = parseCron(text);
  const offset = offsetsOf(zone);
  const times: Date[] = [];
  for (let at = nextTime(cron, offset, after); at !== undefined && times.length < count; at = nextTime(cron, offset, at)) times.push(new Date(at));
  return times;
}
