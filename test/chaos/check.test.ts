import test from 'ava';
import { checkEvents } from './check/events.ts';
import type { Evidence, Invariant, Violation } from './check/evidence.ts';
import { checkNetworks } from './check/on-networks.ts';
import { checkEnds, checkStatuses } from './check/statuses.ts';
import { checkTimes } from './check/times.ts';
import { dueMs, evidenceOf, found } from './check/good-evidence.ts';

// A check that finds nothing is worth something only if it would find something: each test breaks one thing.

const findings = async (evidence: Evidence): Promise<Violation[]> => [
  ...checkEnds(evidence),
  ...checkStatuses(evidence),
  ...checkNetworks(evidence),
  ...checkTimes(evidence),
];

const cases: Readonly<Record<string, [Evidence, Invariant]>> = {
  'a part that is there twice': [
    evidenceOf({ found: [found(1), found(2), found(2, { id: '9' })] }),
    'posts or parts that are there twice',
  ],
  'a part that continues another than the one before it': [
    evidenceOf({ found: [found(1), found(2, { parentId: 'another' })] }),
    'thread parts out of order',
  ],
  'a published post that is not there': [
    evidenceOf({ found: [] }),
    'status says other than the network',
  ],
  'a published post that is elsewhere': [
    evidenceOf({ channel: { url: 'https://mastodon.example/other' } }),
    'status says other than the network',
  ],
  'a failed channel that has its post all the same': [
    evidenceOf({ channel: { status: 'failed', error_code: 'too_late', error: 'Late.' } }),
    'status says other than the network',
  ],
  'a failed channel without a code': [
    evidenceOf({ channel: { status: 'failed', error_code: null, error: null }, found: [] }),
    'not published, and no code says why',
  ],
  'a channel that failed although nothing planned it': [
    evidenceOf({
      channel: { status: 'failed', error_code: 'too_late', error: 'Late.' },
      found: [],
    }),
    'posts that were lost',
  ],
  'a draft that nobody cancelled': [
    evidenceOf({ end: { status: 'draft' }, channel: { status: 'draft', url: null }, found: [] }),
    'posts that were lost',
  ],
  'an unconfirmed channel that could have been confirmed': [
    evidenceOf({ channel: { status: 'unconfirmed', error_code: 'unconfirmed', error: 'Look.' } }),
    'unconfirmed although somebody could tell',
  ],
  'a request before the time': [
    evidenceOf({ creates: [{ labels: [found(1)], askedAtMs: dueMs - 1, account: 'me' }] }),
    'published before its time',
  ],
  'a request at a time that was moved before': [
    evidenceOf({
      lived: {
        inForce: [
          { dueMs, version: 1, fromMs: 0, untilMs: dueMs - 500 },
          { dueMs: dueMs + 60_000, version: 1, fromMs: dueMs - 600, untilMs: Infinity },
        ],
      },
    }),
    'published before its time',
  ],
  'a request after a cancel that left nothing sending': [
    evidenceOf({
      lived: { cancels: [{ ackAtMs: dueMs + 50, stillSending: 0, untilMs: Infinity }] },
    }),
    'published after an acknowledged cancel',
  ],
  'a text that was rewritten before': [
    evidenceOf({
      lived: {
        version: 2,
        inForce: [
          { dueMs, version: 1, fromMs: 0, untilMs: 5000 },
          { dueMs, version: 2, fromMs: 4900, untilMs: Infinity },
        ],
      },
    }),
    'published as it was before an acknowledged edit',
  ],
  'a post that never ended': [evidenceOf({ lived: { end: null } }), 'posts that never ended'],
};

test('a run in which nothing went wrong has no findings', async (t) => {
  t.deepEqual(await findings(evidenceOf()), []);
});

for (const [what, [evidence, invariant]] of Object.entries(cases)) {
  test(`the chaos suite finds ${what}`, async (t) => {
    const invariants = (await findings(evidence)).map((each) => each.invariant);
    t.true(invariants.includes(invariant), JSON.stringify(invariants));
  });
}

test('the chaos suite finds an event that nobody heard, and one that was not signed', async (t) => {
  const unheard = await checkEvents(evidenceOf());
  t.deepEqual(
    unheard.map(({ invariant }) => invariant),
    ['events missing'],
  );

  const headers = {
    'service-event-id': 'e1',
    'service-signature': 'sha256=00',
    'service-timestamp': '1',
  };
  const body = JSON.stringify({
    id: 'e1',
    type: 'post.published',
    data: { post: { id: 'p1', status: 'published' } },
  });
  const unsigned = await checkEvents(evidenceOf({ events: [{ headers, body, answered: 204 }] }));
  t.deepEqual(
    unsigned.map(({ invariant }) => invariant),
    ['events changed or not signed'],
  );
});
