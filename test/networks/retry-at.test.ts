import test from 'ava';
import { retryAtMs } from '../../networks/retry-at.ts';

const nowMs = Date.UTC(2026, 10, 20, 12);
const dayMs = 24 * 60 * 60 * 1000;

const at = (headers: Record<string, string>) =>
  retryAtMs({ status: 429, headers, body: Buffer.alloc(0), truncated: false }, nowMs);

test('each way to say it is understood', (t) => {
  const inAMinute = nowMs + 60_000;
  t.is(at({ 'retry-after': '60' }), inAMinute);
  t.is(at({ 'retry-after': 'Fri, 20 Nov 2026 12:01:00 GMT' }), inAMinute);
  t.is(at({ 'x-ratelimit-reset': '2026-11-20T12:01:00.000Z' }), inAMinute);
  t.is(at({ 'x-ratelimit-reset': String(inAMinute / 1000) }), inAMinute);
  t.is(at({ 'ratelimit-reset': String(inAMinute / 1000) }), inAMinute);
  t.is(at({ 'ratelimit-reset': '60' }), inAMinute);
});

test('what says nothing is not made up', (t) => {
  for (const value of ['', 'soon', '-5', 'NaN']) {
    t.is(at({ 'retry-after': value }), undefined);
  }
  t.is(at({}), undefined);
});

test('a time in the past is now, and a far one is a day away', (t) => {
  t.is(at({ 'x-ratelimit-reset': '2020-01-01T00:00:00Z' }), nowMs);
  t.is(at({ 'retry-after': '99999999' }), nowMs + dayMs);
});
