// The page for users: colors with enough contrast, links of mails, addresses that the service accepts.
import assert from 'node:assert/strict';
import { test } from 'node:test';

(globalThis as { location?: unknown }).location = { pathname: '/org/shop/auth/ui/' };
const { base, linkOf, queryOf, targetOf } = await import('../../src/auth/api.ts');
const { accentOn, contrast, readColor } = await import('../../src/auth/color.ts');

test('each accent color has readable texts on it and a readable form on the page', () => {
  const steps = ['00', '33', '66', '80', '99', 'cc', 'ff'];
  for (const r of steps) {
    for (const g of steps) {
      for (const b of steps) {
        for (const page of ['#ffffff', '#121417']) {
          const made = accentOn(`#${r}${g}${b}`, page)!;
          assert.ok(contrast(readColor(made.fill)!, readColor(made.onFill)!) >= 4.5, made.fill);
          assert.ok(contrast(readColor(made.text)!, readColor(page)!) >= 4.45, `${made.fill} ${made.text} ${page}`);
        }
      }
    }
  }
  assert.equal(accentOn('#1f5fd0', '#ffffff')!.text, '#1f5fd0');
  assert.equal(accentOn('red', '#ffffff'), undefined);
});

test('a link has a known type and a token', () => {
  assert.deepEqual(linkOf('#type=invite&token=abc-_'), { type: 'invite', token: 'abc-_' });
  for (const bad of ['', '#', '#type=invite', '#token=x', '#type=other&token=x', '#type=__proto__&token=x']) assert.equal(linkOf(bad), undefined, bad);
});

test('the address of the project and of the application', () => {
  assert.equal(base, '/org/shop');
  const target = targetOf(new URLSearchParams({ redirect_to: "myapp://a b*(c)!'~", code_challenge: 'x', other: 'y' }));
  assert.match(queryOf(target), /^\?[A-Za-z0-9=&%._~-]+$/);
  assert.deepEqual(targetOf(new URLSearchParams(queryOf(target))), target);
  assert.deepEqual(targetOf(new URLSearchParams('code_challenge=x')), {});
  assert.equal(queryOf({}), '');
});
