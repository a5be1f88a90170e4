import type { Orm } from '../../db/orm.ts';
import { invariants, type Evidence, type Violation } from './check/evidence.ts';
import { accessLossesByChannel } from './check/events.ts';
import { othersOfHangs } from './check/on-time.ts';
import type { Journal } from './parts/journal.ts';
import { faultTitles, type Fault } from './plan/faults.ts';
import { platforms, type Platform } from './plan/platforms.ts';

/** A planned fault that was not applied proves nothing, and fails the run. */
export type FaultCount = {
  readonly title: string;
  readonly planned: number;
  readonly injected: number;
};

export function countFaults({ plan }: Pick<Evidence, 'plan'>, journal: Journal): FaultCount[] {
  const planned: readonly Fault[] = [
    ...plan.posts.flatMap(({ faults }) =>
      faults.filter(({ mayMiss }) => !mayMiss).map(({ fault }) => fault),
    ),
    ...plan.outages.map(({ what }) => what),
    ...plan.serverOutages.map(({ what }) => what),
    ...plan.traps.map(({ fault }) => fault),
    ...plan.refreshFaults.map(({ fault }) => fault),
    ...plan.channels.flatMap(({ revokedAtMs }) =>
      revokedAtMs === null ? [] : (['token revoked'] as const),
    ),
  ];
  return (Object.keys(faultTitles) as Fault[]).map((fault) => ({
    title: faultTitles[fault],
    planned: planned.filter((each) => each === fault).length,
    injected: journal.countOf(fault),
  }));
}

/** The posts and faults of a run on one network. */
export type NetworkCount = {
  readonly platform: Platform;
  readonly channels: number;
  /** Parts on the network, and their files. */
  readonly parts: number;
  readonly files: number;
  /** Faults of posts that were applied on the network. */
  readonly faults: number;
};

export function countNetworks(
  { plan, found, histories }: Evidence,
  { cameAbout }: Pick<Journal, 'cameAbout'>,
): NetworkCount[] {
  const ids = histories.flatMap((history) => history.plan.faults).filter(({ id }) => cameAbout(id));
  return platforms.map((platform) => {
    const own = found.filter(({ channel }) => plan.channels[channel]?.platform === platform);
    return {
      platform,
      channels: plan.channels.filter((channel) => channel.platform === platform).length,
      parts: own.length,
      files: own.reduce((sum, { files }) => sum + files.length, 0),
      faults: new Set(ids.filter((fault) => fault.platform === platform).map(({ id }) => id)).size,
    };
  });
}

export const isShort = ({ planned, injected }: FaultCount): boolean => injected < planned;

/** The report's tables. */
export function report(
  evidence: Evidence,
  {
    faults,
    networks,
    violations,
  }: {
    readonly faults: readonly FaultCount[];
    readonly networks: readonly NetworkCount[];
    readonly violations: readonly Violation[];
  },
): string {
  const results = evidence.histories.flatMap(({ end }) => end?.channels ?? []);
  const statuses = Object.entries(Object.groupBy(results, ({ status }) => status));
  const first = new Set(evidence.plan.posts.map(({ marker }) => marker));
  const added = evidence.histories.filter(({ plan }) => !first.has(plan.marker));
  return [
    row('Fault', 'planned', 'injected'),
    ...faults.map(({ title, planned, injected }) => row(title, planned, injected)),
    '',
    row('Network', 'channels', 'parts', 'files', 'faults'),
    ...networks.map(({ platform, channels, parts, files, faults: count }) =>
      row(platform, channels, parts, files, count),
    ),
    '',
    row('Invariant', '', 'violated'),
    ...invariants.map((invariant) =>
      row(invariant, '', violations.filter((each) => each.invariant === invariant).length),
    ),
    '',
    `${evidence.histories.length} posts on ${results.length} channels: ${statuses.map(([status, list]) => `${list.length} ${status}`).join(', ')}.`,
    `${evidence.found.length} parts found on the networks, made by ${evidence.creates.length} requests; ${evidence.events.length} webhook requests.`,
    `${othersOfHangs(evidence).length} posts tested whether a hanging server delays others; ${evidence.histories.filter(({ restores }) => restores > 0).length} may have been changed by a restore, and their users settled ${evidence.histories.reduce((sum, { settled }) => sum + settled, 0)} of their channels.`,
    ...describeAccess(evidence),
    describeFigures(evidence),
    ...(added.length > 0 ? [`Added for faults that missed their posts: ${markersOf(added)}.`] : []),
  ].join('\n');
}

function describeAccess({ access, channels, events }: Evidence): string[] {
  const { refreshes, grants, mended, resent } = access;
  const tried = Object.entries(Object.groupBy(refreshes, ({ outcome }) => outcome));
  const networks = Object.entries(
    Object.groupBy(refreshes, ({ channel }) => channels[channel]?.platform ?? ''),
  );
  const list = (groups: [string, readonly object[] | undefined][]): string =>
    groups.map(([name, all = []]) => `${all.length} ${name}`).join(', ');
  const losses = [...accessLossesByChannel(events).values()].reduce((sum, count) => sum + count, 0);
  const ended = grants.filter(({ isRevoked }) => isRevoked).length;
  return [
    `${refreshes.length} refreshes (${list(networks)}): ${list(tried)}. ${grants.length} grants, ${ended} of them ended by networks; ${losses} events of lost access on all accounts; owners reconnected ${mended} accounts and retried ${resent} posts.`,
  ];
}

function describeFigures({ figures: { seen, totals } }: Evidence): string {
  const channels = new Set(seen.map(({ postId, channelId }) => `${postId} ${channelId}`));
  return `Metrics: ${seen.length} readings of ${channels.size} posts on channels; ${totals.posts} posts and ${totals.likes} likes at the end.`;
}

const markersOf = (histories: Evidence['histories']): string =>
  histories.map(({ plan }) => plan.marker).join(', ');

const row = (title: string, ...cells: readonly (string | number)[]): string =>
  [title.padEnd(54), ...cells.map((cell) => String(cell).padStart(9))].join(' ');

/** Describes a post by the journal, the API and the product's tables. */
export async function describePost(
  orm: Orm,
  journal: Journal,
  evidence: Evidence,
  marker: string,
): Promise<string> {
  const history = evidence.histories.find(({ plan }) => plan.marker === marker);
  const books = await orm.em.fork().execute<object[]>(
    `select pc.status, pc.error_code, pc.tries, pc.retry_at, pc.url, p.status as post_status, p.run, p.revision, p.synced_revision,
       (select json_agg(json_build_object('run', a.run, 'part', a.part, 'state', a.state, 'sending_at', a.sending_at, 'url', a.url) order by a.run, a.part)
        from post_parts a where a.post_channel_id = pc.id and a.workspace_id = pc.workspace_id) as ledger
     from post_channels pc join posts p on p.id = pc.post_id and p.workspace_id = pc.workspace_id where p.id = ?`,
    [history?.id ?? null],
  );
  return [
    `History of ${marker} (${history?.id}):`,
    ...journal.storyOf(marker),
    `At the end: ${JSON.stringify(history?.end, null, 2)}`,
    `In the database: ${JSON.stringify(books, null, 2)}`,
  ].join('\n');
}
