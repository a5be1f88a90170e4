import test from 'ava';
import { checkEvents } from './check/events.ts';
import type { Evidence, Invariant, Violation } from './check/evidence.ts';
import { dueMs, evidenceOf, found } from './check/good-evidence.ts';
import { checkNetworks } from './check/on-networks.ts';
import { checkEnds, checkStatuses } from './check/statuses.ts';
import { checkTimes } from './check/times.ts';
import { faultTitles, type Fault } from './plan/faults.ts';
import { makePlan } from './plan/make-plan.ts';
import type { ChaosPlan } from './plan/post-plan.ts';

const seeds = Array.from({ length: 40 }, (_, index) => index * 7919 + 1);
const planFor = (posts: number, seed: number): ChaosPlan =>
  makePlan({ posts, seed, server: 'dev', minutes: undefined, keep: false });

function countOf(plan: ChaosPlan, fault: Fault): number {
  const certain = plan.posts.flatMap(({ faults }) => faults.filter(({ mayMiss }) => !mayMiss));
  const all: readonly Fault[] = [
    ...certain.map((each) => each.fault),
    ...plan.outages.map(({ what }) => what),
    ...plan.serverOutages.map(({ what }) => what),
    ...plan.traps.map((trap) => trap.fault),
    ...plan.refreshFaults.map((each) => each.fault),
    ...plan.channels.flatMap(({ revokedAtMs }) =>
      revokedAtMs === null ? [] : (['token revoked'] as const),
    ),
  ];
  return all.filter((each) => each === fault).length;
}

test('a run of 60 posts, as in CI, plans every fault at least once, whatever its seed', (t) => {
  for (const seed of seeds) {
    for (const fault of Object.keys(faultTitles) as Fault[]) {
      t.true(countOf(planFor(60, seed), fault) >= 1, `${fault}, seed ${seed}`);
    }
  }
});

const findings = async (evidence: Evidence): Promise<Violation[]> => [
  ...checkEnds(evidence),
  ...checkStatuses(evidence),
  ...checkNetworks(evidence),
  ...checkTimes(evidence),
];

const cases: Readonly<Record<string, [Evidence, Invariant]>> = {
  'a part that is live twice': [
    evidenceOf({ found: [found(1), found(2), found(2, { id: '9' })] }),
    'posts or parts that are live twice',
  ],
  'a part that replies to the wrong part': [
    evidenceOf({ found: [found(1), found(2, { parentId: 'another' })] }),
    'thread parts out of order',
  ],
  'a published post that is not on its network': [
    evidenceOf({ found: [] }),
    'status that differs from the network',
  ],
  'a published post with another URL': [
    evidenceOf({ channel: { url: 'https://mastodon.example/other' } }),
    'status that differs from the network',
  ],
  'a failed channel whose post is live': [
    evidenceOf({ channel: { status: 'failed', error_code: 'too_late', error: 'Late.' } }),
    'status that differs from the network',
  ],
  'a failed channel without a code': [
    evidenceOf({ channel: { status: 'failed', error_code: null, error: null }, found: [] }),
    'not published, without an error code',
  ],
  'a channel that failed without a planned fault': [
    evidenceOf({
      channel: { status: 'failed', error_code: 'too_late', error: 'Late.' },
      found: [],
    }),
    'posts that were lost',
  ],
  'a draft that was not cancelled': [
    evidenceOf({ end: { status: 'draft' }, channel: { status: 'draft', url: null }, found: [] }),
    'posts that were lost',
  ],
  'an unconfirmed channel whose network can tell': [
    evidenceOf({ channel: { status: 'unconfirmed', error_code: 'unconfirmed', error: 'Look.' } }),
    'unconfirmed although the network could tell',
  ],
  'a request before the due time': [
    evidenceOf({ creates: [{ labels: [found(1)], askedAtMs: dueMs - 1, account: 'me' }] }),
    'published before its time',
  ],
  'a request at a due time that was changed before': [
    evidenceOf({
      history: {
        inForce: [
          { dueMs, version: 1, fromMs: 0, untilMs: dueMs - 500 },
          { dueMs: dueMs + 60_000, version: 1, fromMs: dueMs - 600, untilMs: Infinity },
        ],
      },
    }),
    'published before its time',
  ],
  'a request after a cancel that reported no channel as sending': [
    evidenceOf({
      history: { cancels: [{ ackAtMs: dueMs + 50, stillSending: 0, untilMs: Infinity }] },
    }),
    'published after an acknowledged cancel',
  ],
  'a text that was edited before': [
    evidenceOf({
      history: {
        version: 2,
        inForce: [
          { dueMs, version: 1, fromMs: 0, untilMs: 5000 },
          { dueMs, version: 2, fromMs: 4900, untilMs: Infinity },
        ],
      },
    }),
    'published without an acknowledged edit',
  ],
  'a post that never ended': [evidenceOf({ history: { end: null } }), 'posts that never ended'],
};

test('a run without faults has no violations', async (t) => {
  t.deepEqual(await findings(evidenceOf()), []);
});

for (const [what, [evidence, invariant]] of Object.entries(cases)) {
  test(`the chaos suite detects ${what}`, async (t) => {
    const invariants = (await findings(evidence)).map((each) => each.invariant);
    t.true(invariants.includes(invariant), JSON.stringify(invariants));
  });
}

test('the chaos suite detects an event that did not arrive, and one that was not signed', async (t) => {
  const unheard = await checkEvents(evidenceOf());
  t.is(unheard.map(({ invariant }) => invariant).join(), 'events missing');

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
  t.is(unsigned.map(({ invariant }) => invariant).join(), 'events changed or not signed');
});
