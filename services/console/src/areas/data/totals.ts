// The metrics that the bar of totals offers for a field.
import { operatorsOf } from '../../api/filters.ts';
import type { Query } from '../../api/http.ts';
import type { Field } from '../../api/model.ts';
import type { ColumnChoice } from '../../api/records.ts';
import { kinds } from './kinds.ts';

export const METRICS = ['sum', 'avg', 'min', 'max'] as const;
export type Metric = (typeof METRICS)[number];
const NO_AMOUNTS = ['id', 'created_by'];

export function metricsOf(field: Field): readonly Metric[] {
  if (NO_AMOUNTS.includes(field.name)) return [];
  if (kinds[field.type].isNumber) return METRICS;
  return operatorsOf(field).some((operator) => operator.fits === 'order') ? ['min', 'max'] : [];
}

/** The parameters of GET …/items/aggregate; empty without a metric. */
export function totalsQuery(list: Query, choice: readonly ColumnChoice[]): Query {
  const wanted = METRICS.map((metric) => [metric, choice.filter((column) => column.metric === metric).map((column) => column.name).join(',')] as const);
  const named = wanted.filter(([, names]) => names !== '');
  return named.length > 0 ? [...list.filter(([name]) => name.startsWith('filter')), ...named] : [];
}
