import test from 'ava';
import { checkEvents, eventsDue } from './check/events.ts';
import type { Evidence, Violation } from './check/evidence.ts';
import { dueMs, evidenceOf, found, type Changes } from './check/good-evidence.ts';
import { checkNetworks } from './check/on-networks.ts';
import { checkOthersOnTime } from './check/on-time.ts';
import { checkEnds, checkStatuses } from './check/statuses.ts';
import { checkTimes } from './check/times.ts';
import { forget, type PostHistory } from './post-history.ts';

const findings = (evidence: Evidence): string[] =>
  [
    ...checkEnds(evidence),
    ...checkStatuses(evidence),
    ...checkNetworks(evidence),
    ...checkTimes(evidence),
  ].map(({ invariant }: Violation) => invariant);

const historyOf = (changes: Changes): PostHistory => {
  const [history] = evidenceOf(changes).histories;
  if (!history) {
    throw new Error('The evidence contains no post.');
  }

  return history;
};

/** The violations of a run whose database was restored. */
function afterRestore(changes: Changes, restore: { backupAtMs: number; restoredAtMs: number }) {
  const evidence = evidenceOf(changes);
  for (const history of evidence.histories) {
    forget(history, restore);
  }
  return { invariants: findings(evidence), history: evidence.histories[0] };
}

test('the chaos suite detects a request with the old text after an edit, unless a cancel reported it as still sending', (t) => {
  const old = [{ labels: [found(1)], askedAtMs: dueMs + 100, account: 'me' }];
  const edited = (stillSending: number): Evidence =>
    evidenceOf({
      creates: old,
      history: {
        version: 2,
        cancels: [{ ackAtMs: dueMs + 10, stillSending, untilMs: dueMs + 20 }],
        inForce: [
          { dueMs, version: 1, fromMs: 0, untilMs: dueMs + 10 },
          { dueMs, version: 2, fromMs: dueMs + 20, untilMs: Infinity },
        ],
      },
    });
  const stale = 'published without an acknowledged edit';
  t.true(findings(edited(0)).includes(stale));
  t.false(findings(edited(1)).includes(stale));
});

test('the chaos suite detects a live part that the API does not show', (t) => {
  const draft = (warning: string | null): Evidence =>
    evidenceOf({
      history: { isDraft: true, cancels: [{ ackAtMs: dueMs, stillSending: 1, untilMs: Infinity }] },
      end: { status: 'draft' },
      channel: { status: 'draft', url: null, warning },
      found: [found(1)],
    });
  t.deepEqual(findings(draft(null)), ['live, but not shown by the API']);
  t.deepEqual(findings(draft('1 of 2 parts is live, from https://mastodon.example/1 on.')), []);
});

test('the chaos suite detects a post that was late while another server hung', (t) => {
  const evidence = (askedAtMs: number, disturbances: number[] = []): Evidence => {
    const given = evidenceOf({ creates: [{ labels: [found(1)], askedAtMs, account: 'me' }] });
    const hang = { what: 'server hangs', platform: 'mastodon', atMs: 0, forMs: 45_000 } as const;
    return { ...given, disturbances, plan: { ...given.plan, serverOutages: [hang] } };
  };
  const late = checkOthersOnTime(evidence(dueMs + 20_000));
  t.is(late.map(({ invariant }) => invariant).join(), 'late while another server hung');
  t.deepEqual(checkOthersOnTime(evidence(dueMs + 500)), []);
  // A worker died just before.
  t.deepEqual(checkOthersOnTime(evidence(dueMs + 20_000, [dueMs - 1000])), []);
});

const doubt = { status: 'unconfirmed', error_code: 'unconfirmed', error: '?', url: null } as const;

test('a post that a restored database lacks may be unconfirmed, but not be live twice', (t) => {
  const restore = { backupAtMs: dueMs - 1000, restoredAtMs: dueMs + 5000 };
  const once = afterRestore({ channel: doubt }, restore);
  t.deepEqual(once.invariants, []);
  const twice = [found(1), found(2), found(2, { id: '9', parentId: '1' })];
  const again = afterRestore({ channel: doubt, found: twice }, restore);
  t.true(again.invariants.includes('posts or parts that are live twice'));
});

test('a post that slept through a restore, or had ended before its backup, must satisfy everything that was acknowledged', (t) => {
  const asleep = { backupAtMs: 1000, restoredAtMs: 5000 };
  const ended = { backupAtMs: dueMs + 5000, restoredAtMs: dueMs + 9000 };
  for (const restore of [asleep, ended]) {
    const { invariants, history } = afterRestore(
      { channel: doubt, history: { endedAtMs: dueMs + 1000 } },
      restore,
    );
    t.deepEqual(invariants, ['unconfirmed although the network could tell']);
    t.is(history && eventsDue(history).least, 1);
  }
});

test('a draft may have been sent after the backup only if its workflow ended since', (t) => {
  const draft = (ended: string[]): number => {
    const end = { status: 'draft' } as const;
    const history = historyOf({ history: { endedAtMs: dueMs + 1000 }, end });
    forget(history, {
      backupAtMs: dueMs + 5000,
      restoredAtMs: dueMs + 9000,
      ended: new Set(ended),
    });
    return history.restores;
  };
  t.deepEqual([draft(['p1']), draft(['another'])], [1, 0]);
});

test('a cancel that a restore lost holds until the restore, and the earlier due time applies again', (t) => {
  const restore = { backupAtMs: 1000, restoredAtMs: 5000 };
  const cancelled = (askedAtMs: number) =>
    afterRestore(
      {
        creates: [{ labels: [found(1)], askedAtMs, account: 'me' }],
        history: {
          calledAtMs: 2000,
          cancels: [{ ackAtMs: 2000, stillSending: 0, untilMs: Infinity }],
          inForce: [{ dueMs: 500, version: 1, fromMs: 0, untilMs: 2000 }],
        },
      },
      restore,
    ).invariants;
  t.true(cancelled(3000).includes('published after an acknowledged cancel'));
  t.deepEqual(cancelled(6000), []);
});

test('a post whose event a restore may have lost needs no event and may have another one', async (t) => {
  const history = historyOf({ history: { calledAtMs: 2000 } });
  forget(history, { backupAtMs: 1000, restoredAtMs: 5000 });
  t.deepEqual(eventsDue(history), { least: 0, most: 2 });
  t.deepEqual(await checkEvents({ ...evidenceOf(), histories: [history] }), []);
  // Its user has settled a channel since.
  history.settled = 1;
  const [violation] = await checkEvents({ ...evidenceOf(), histories: [history] });
  t.is(violation?.invariant, 'events missing');
});

test('a channel that cannot read its posts, and no other, may stay unconfirmed, but only after a cancel', (t) => {
  const cancels = [{ ackAtMs: dueMs + 200, stillSending: 1, untilMs: Infinity }];
  const left = (isBlind: boolean, history: Changes['history'] = {}): string[] => {
    const evidence = evidenceOf({ history, channel: doubt });
    const channels = evidence.plan.channels.map((channel) => ({ ...channel, isBlind }));
    return findings({ ...evidence, plan: { ...evidence.plan, channels } });
  };
  t.deepEqual(left(true, { cancels }), []);
  t.deepEqual(left(true), ['unconfirmed although the network could tell']);
  t.deepEqual(left(false, { cancels }), ['unconfirmed although the network could tell']);
});
