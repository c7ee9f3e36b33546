// Texts by key. A text with numbers or names is a function of them.
import { lazy } from '../lazy.ts';

type Text = string | ((values: never) => string);
type Values<T> = T extends (values: infer V) => string ? [values: V] : [];

/** The function that returns the texts of a table. The compiler checks keys and values. */
export function textsOf<const T extends Record<string, Text>>(table: T): <K extends keyof T>(key: K, ...values: Values<T[K]>) => string {
  return (key, ...values) => {
    const text = table[key]!;
    return typeof text === 'string' ? text : (text as (values: unknown) => string)(values[0]);
  };
}

const LANGUAGE = 'en';
const rules = lazy(() => new Intl.PluralRules(LANGUAGE));
const numbers = lazy(() => new Intl.NumberFormat(LANGUAGE));

/** The form for a number, with `#` replaced by the number. */
export function plural(n: number, forms: { one: string; other: string } & Partial<Record<Intl.LDMLPluralRule, string>>): string {
  return (forms[rules().select(n)] ?? forms.other).replace('#', numbers().format(n));
}
