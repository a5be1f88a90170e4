import test from 'ava';
import { checkAccess } from './check/access.ts';
import { checkEvents } from './check/events.ts';
import type { Evidence } from './check/evidence.ts';
import { evidenceOf, type Changes } from './check/good-evidence.ts';
import { checkStatuses } from './check/statuses.ts';
import type { SeenRefresh } from './networks/refreshes.ts';
import type { Platform } from './plan/platforms.ts';

const refresh = (askedAtMs: number, change: Partial<SeenRefresh> = {}): SeenRefresh => ({
  channel: 0,
  token: 'first',
  worker: 'worker-1',
  askedAtMs,
  answeredAtMs: askedAtMs + 20,
  outcome: 'renewed',
  ...change,
});

const refused = (askedAtMs: number, change: Partial<SeenRefresh> = {}): SeenRefresh =>
  refresh(askedAtMs, { outcome: 'refused', ...change });

type Access = Partial<Evidence['access']>;

/** A channel with a grant that its network has ended. */
function evidenceFor(access: Access, platform: Platform = 'x', changes: Changes = {}): Evidence {
  const grants = [{ channel: 0, isRevoked: true, refreshTokens: ['first', 'second'] }];
  const evidence = evidenceOf({ ...changes, access: { grants, ...access } });
  const [plan] = evidence.plan.channels;
  const channels = evidence.channels.map((channel) => ({ ...channel, platform }));
  return {
    ...evidence,
    channels,
    plan: { ...evidence.plan, channels: plan ? [{ ...plan, platform }] : [] },
  };
}

const findings = (access: Access, platform?: Platform): string[] =>
  checkAccess(evidenceFor(access, platform)).map(({ invariant }) => invariant);

const again = 'refresh tokens sent again';
const unexplained = 'access lost without a cause';

test('the chaos suite detects a refresh token that is sent twice if it is single-use, or again after it was refused', (t) => {
  const twice = [refresh(1000), refused(9000, { worker: 'worker-2' })];
  t.deepEqual(findings({ refreshes: twice }), [again]);
  t.deepEqual(findings({ refreshes: [refresh(1000), refresh(9000, { token: 'second' })] }), []);
  // LinkedIn and YouTube accept a refresh token repeatedly.
  t.deepEqual(findings({ refreshes: [refresh(1000), refresh(9000)] }, 'youtube'), []);
  t.deepEqual(findings({ refreshes: [refused(1000), refused(9000)] }, 'youtube'), [again]);
  const away = refresh(1000, { outcome: 'away' });
  t.deepEqual(findings({ refreshes: [away, refresh(9000)] }), []);
});

test('a token may be sent twice only if a worker died with the response', (t) => {
  const refreshes = [refresh(1000), refused(9000, { worker: 'worker-2' })];
  const dying = (name: string, atMs: number) =>
    findings({ refreshes, ends: [{ name, atMs }] }).length;
  t.is(dying('worker-1', 1030), 0);
  t.is(dying('worker-2', 1030), 1);
  t.is(dying('worker-1', 900), 1);
  t.is(dying('worker-1', 8900), 1);
});

test('a token may be sent twice if its response was lost, its worker was suspended, or a restore lost its new pair', (t) => {
  const second = refused(9000, { worker: 'worker-2' });
  t.deepEqual(findings({ refreshes: [refresh(1000, { outcome: 'lost' }), second] }), []);
  const refreshes = [refresh(1000), second];
  t.deepEqual(findings({ refreshes, pauses: [{ fromMs: 1010, untilMs: 9500 }] }), []);
  t.deepEqual(findings({ refreshes, pauses: [{ fromMs: 7000, untilMs: 9500 }] }), [again]);
  const restored = (backupAtMs: number) =>
    findings({ refreshes, restores: [{ backupAtMs, restoredAtMs: backupAtMs + 2000 }] });
  t.deepEqual(restored(500), []);
  t.deepEqual(restored(7000), [again]);
});

test('the chaos suite detects a lost grant or channel without a cause', (t) => {
  const grants = [{ channel: 0, isRevoked: false, refreshTokens: ['first'] }];
  t.deepEqual(findings({ refreshes: [refused(1000)], grants }), [unexplained]);
  t.deepEqual(findings({ states: ['needs_reconnect'] }), [unexplained]);
});

test('a cancelled post may fail for an ended access, and other posts may not', (t) => {
  const channel = {
    status: 'failed',
    error_code: 'access_lost',
    error: 'Over.',
    url: null,
  } as const;
  const statuses = (refreshes: SeenRefresh[], changes: Changes) =>
    checkStatuses(evidenceFor({ refreshes }, 'x', { channel, found: [], ...changes })).map(
      ({ invariant }) => invariant,
    );
  const cancelled: Changes = { end: { status: 'draft' }, history: { isDraft: true } };
  t.deepEqual(statuses([refused(1000)], cancelled), []);
  t.deepEqual(statuses([refresh(1000)], cancelled), ['posts that were lost']);
  t.deepEqual(statuses([refused(1000)], { end: { status: 'failed' } }), ['posts that were lost']);
});

/** The invariants that `times` events of lost access violate, without those of signatures. */
async function violationsOf(access: Access, times: number): Promise<string[]> {
  const headers = (id: string) => ({ 'service-event-id': id });
  const events = Array.from({ length: times }, (_, index) => {
    const id = `e${index}`;
    const body = JSON.stringify({ id, type: 'x', data: { channel: { id: 'c0' } } });
    return { headers: headers(id), body, answered: 204 };
  });
  const evidence = { ...evidenceFor(access, 'x', { events }), histories: [] };
  const violations = await checkEvents(evidence);
  return violations
    .map(({ invariant }) => invariant)
    .filter((invariant) => invariant !== 'events changed or not signed');
}

test('exactly one event reports each lost grant', async (t) => {
  const refreshes = [refused(1000)];
  t.deepEqual(await violationsOf({ refreshes }, 0), ['events missing']);
  t.deepEqual(await violationsOf({ refreshes }, 1), []);
  t.deepEqual(await violationsOf({ refreshes }, 2), ['events too many']);
  t.deepEqual(await violationsOf({ refreshes: [refresh(1000)] }, 1), ['events too many']);
  // The account was connected again, and its grant ended again.
  const twice = [refused(1000), refused(9000, { token: 'second' })];
  t.deepEqual(await violationsOf({ refreshes: twice }, 1), ['events missing']);
  t.deepEqual(await violationsOf({ refreshes: twice }, 2), []);
});

test('a restore may lose the event of a lost grant, and the next refusal creates another one', async (t) => {
  const restores = [{ backupAtMs: 500, restoredAtMs: 5000 }];
  const before = [refused(1000)];
  t.deepEqual(await violationsOf({ refreshes: before, restores }, 0), []);
  t.deepEqual(await violationsOf({ refreshes: before, restores }, 2), ['events too many']);
  const late = [{ backupAtMs: 9000, restoredAtMs: 9500 }];
  const pauses = [{ fromMs: 1500, untilMs: 8500 }];
  t.deepEqual(await violationsOf({ refreshes: before, restores: late, pauses }, 0), []);
  t.deepEqual(await violationsOf({ refreshes: before, restores: late }, 0), ['events missing']);
  const died = (name: string) =>
    violationsOf({ refreshes: before, restores: late, ends: [{ name, atMs: 1500 }] }, 0);
  t.deepEqual(await died('worker-1'), []);
  t.deepEqual(await died('worker-2'), ['events missing']);
  // It was asked again, so the first refusal had not been stored.
  const twice = [...before, refused(8900)];
  t.deepEqual(await violationsOf({ refreshes: twice, restores: late }, 0), []);
  const after = [...before, refused(9000)];
  t.deepEqual(await violationsOf({ refreshes: after, restores }, 0), ['events missing']);
  t.deepEqual(await violationsOf({ refreshes: after, restores }, 2), []);
});
