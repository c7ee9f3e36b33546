import { plural, textsOf } from '../../strings/t.ts';

export const c = textsOf({
  asTable: 'Data as a table',
  changed: (v: { percent: string }) => `${v.percent} against the period before`,
  hiddenRows: (v: { n: number }) => plural(v.n, { one: '# more group is in the table', other: '# more groups are in the table' }),
  hiddenSeries: (v: { n: number }) => plural(v.n, { one: '# more series is in the table', other: '# more series are in the table' }),
  limited: 'The chart has more rows than its limit.',
  noData: 'No records to show.',
  others: 'Others',
  previous: (v: { name: string }) => `${v.name}, period before`,
  summary: (v: { title: string; labels: number; series: string }) => `${v.title}: ${plural(v.labels, { one: '# group', other: '# groups' })} of ${v.series}`,
});
