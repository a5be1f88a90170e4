import test from 'ava';
import { daysOf } from '../../../api/analytics/days.ts';
import { newClient } from '../../support/client.ts';
import { startApi } from '../../support/punctual.ts';

const now = new Date('2027-03-31T23:59:59.999Z');

test('if nothing is said the last 30 days are meant, today included, in UTC', (t) => {
  t.deepEqual(daysOf({}, now), { from: '2027-03-02', to: '2027-03-31' });
  t.deepEqual(daysOf({}, new Date('2027-04-01T00:00:00.000Z')), {
    from: '2027-03-03',
    to: '2027-04-01',
  });
  t.deepEqual(daysOf({ to: '2024-03-01' }, now), { from: '2024-02-01', to: '2024-03-01' });
  t.deepEqual(daysOf({ from: '2027-01-01' }, now), { from: '2027-01-01', to: '2027-03-31' });
});

test('366 days are a range, 367 are not', (t) => {
  const year = { from: '2024-01-01', to: '2024-12-31' };
  t.deepEqual(daysOf(year, now), year);
  t.deepEqual(daysOf({ from: '2026-03-31' }, now), { from: '2026-03-31', to: '2027-03-31' });
  for (const days of [{ ...year, to: '2025-01-01' }, { from: '2026-03-30' }]) {
    t.throws(() => daysOf(days, now), { code: 'invalid_request', message: /366 days/v });
  }
});

test('a query that does not fit is 400 and every parameter of it is named', async (t) => {
  const client = await newClient(await startApi(t));
  const wrong: [string, ...string[]][] = [
    ['from=2027-02-30', '?from'],
    ['from=2027-2-3', '?from'],
    ['to=20270203', '?to'],
    ['to=2027-02-03T00:00:00Z', '?to'],
    ['to=', '?to'],
    ['from=yesterday&to=tomorrow', '?from', '?to'],
    ['from=2027-02-02&to=2027-02-01', '?from'],
    ['from=9999-01-01', '?from'],
    ['from=2025-01-01&to=2026-01-02', '?from'],
    ['post_id=42', '?post_id'],
    ['post_id=', '?post_id'],
    ['post_id=0192F0C4-5A7E-7C3B-9D21-6F0E8A4B1C2D', '?post_id'],
    ['post_id=urn:uuid:0192f0c4-5a7e-7c3b-9d21-6f0e8a4b1c2d', '?post_id'],
    ['channel_id=42', '?channel_id'],
    ['platform=myspace', '?platform'],
    ['platform=X', '?platform'],
    ['sort=views', '?sort'],
    ['sort=likes;drop', '?sort'],
    ['order=down', '?order'],
    ['order=ASC', '?order'],
    ['limit=0', '?limit'],
    ['limit=101', '?limit'],
    ['limit=ten', '?limit'],
    ['limit=1.5', '?limit'],
    ['limit=0x10', '?limit'],
    ['limit=1e1', '?limit'],
    ['limit=%201', '?limit'],
    ['limit=', '?limit'],
    ['offset=-1', '?offset'],
    ['offset=2147483648', '?offset'],
    ['offset=99999999999999999999', '?offset'],
    ['limit=5&limit=5', '?limit'],
    ['platform=x%00', '?platform'],
    ['form=2027-01-01', '?form'],
    ['__proto__=1', '?__proto__'],
    ['sort=x&order=y&limit=z&q=1', '?limit', '?order', '?q', '?sort'],
    ['post_id=42&from=x', '?from', '?post_id'],
  ];
  for (const [query, ...paths] of wrong) {
    const { status, body } = await client.get(`/analytics?${query}`);
    t.is(status, 400, query);
    t.is(body.code, 'invalid_request', query);
    const named = body.details.map(({ path }: { path: string }) => path).toSorted();
    t.deepEqual([...new Set(named)], paths, query);
  }
});

test('days at both ends of the calendar are days like others', async (t) => {
  const client = await newClient(await startApi(t));
  for (const [from, to] of [
    ['0000-01-01', '0000-01-31'],
    ['9999-12-01', '9999-12-31'],
    ['1969-12-31', '1970-01-01'],
  ]) {
    const { status, body } = await client.get(`/analytics?from=${from}&to=${to}`);
    t.is(status, 200);
    t.like(body, { from, to, totals: { posts: 0 } });
  }

  const first = await client.get('/analytics?to=0000-01-05');
  t.like(first.body, { from: '0000-01-01', to: '0000-01-05' });
});
