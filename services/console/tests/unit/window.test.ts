import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elementHeight, follow, isScaled, isStuck, MAX_HEIGHT, reveal, rowRange, scrollAt, settle, topAt, type Extent } from '../../src/kit/window.ts';

const SIZES = [0, 1, 500, 1_048_576, 5_000_000];
const extent = (rows: number): Extent => ({ rows, rowHeight: 32, viewport: 600 });

for (const rows of SIZES) {
  test(`the first and the last of ${rows} rows are reached`, () => {
    const it = extent(rows);
    const end = Math.max(0, elementHeight(it) - it.viewport);
    assert.ok(elementHeight(it) <= MAX_HEIGHT);
    assert.equal(topAt(it, 0), 0);
    assert.equal(rowRange(it, topAt(it, 0), 0).first, 0);
    const last = rowRange(it, topAt(it, end), 0);
    assert.equal(last.end, rows);
    assert.equal(topAt(it, end), Math.max(0, rows * 32 - 600));
    assert.deepEqual(rowRange(it, topAt(it, end), 6).end, rows);
  });

  test(`positions of ${rows} rows and of their element are inverse`, () => {
    const it = extent(rows);
    for (const share of [0, 0.1, 0.5, 0.9, 1]) {
      const top = Math.max(0, rows * 32 - 600) * share;
      assert.ok(Math.abs(topAt(it, scrollAt(it, top)) - top) < 1, `${share}`);
    }
  });
}

test('only long lists are scaled', () => {
  assert.deepEqual(SIZES.map((rows) => isScaled(extent(rows))), [false, false, false, true, true]);
});

test('each row can be revealed, with a move as small as possible', () => {
  const it = extent(5_000_000);
  for (const row of [0, 1, 2_500_000, 4_999_999]) {
    const top = reveal(it, 0, row);
    const { first, end } = rowRange(it, top, 0);
    assert.ok(row >= first && row < end, `${row}`);
  }
  assert.equal(reveal(it, 3200, 100), 3200);
  assert.equal(reveal(it, 3200, 99), 3168);
});

test('a wheel moves the rows of a scaled list by its pixels, and the thumb by its share', () => {
  const it = extent(5_000_000);
  let scroll = { scrollTop: scrollAt(it, 1_000_000), top: 1_000_000 };
  scroll = follow(it, scroll, scroll.scrollTop + 100);
  assert.equal(scroll.top, 1_000_100);
  const wanted = settle(it, scroll);
  assert.ok(wanted !== undefined && wanted < scroll.scrollTop);
  scroll = follow(it, { ...scroll, scrollTop: wanted }, wanted);
  assert.equal(scroll.top, 1_000_100);
  assert.equal(settle(it, scroll), undefined);
  scroll = follow(it, scroll, MAX_HEIGHT - it.viewport);
  assert.equal(scroll.top, 5_000_000 * 32 - 600);
});

test('a scroll to the first row by the wheel does not end at the end of the element', () => {
  const it = extent(5_000_000);
  let scroll = { scrollTop: scrollAt(it, 300_000), top: 300_000 };
  for (let steps = 0; scroll.top > 0 && steps < 3000; steps++) {
    scroll = follow(it, scroll, Math.max(0, scroll.scrollTop - 120));
    if (isStuck(it, scroll)) scroll = { ...scroll, scrollTop: settle(it, scroll) ?? scroll.scrollTop };
  }
  assert.equal(scroll.top, 0);
});
