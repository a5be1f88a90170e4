import type { LimitScope } from '../../domain/channel-error.ts';
import type { Em } from '../../db/orm.ts';
import type { PublishTarget } from './target.ts';

/** A rate limit that was met: nothing that it holds for is tried before its end. One row each, shared by all workers. */
export type Park = { readonly scope: LimitScope; readonly untilMs: number };

/** What a statement that has the channel as `c` selects and joins for {@link parkOf}. */
export const parkColumns =
  'c.parked_until as channel_park, server.parked_until as server_park, network.parked_until as network_park';
export const parkJoins = `left join network_parks server on server.platform = c.platform and server.base_url = c.base_url
     left join network_parks network on network.platform = c.platform and network.base_url = ''`;

export type ParkRow = {
  channel_park: string | Date | null;
  server_park: string | Date | null;
  network_park: string | Date | null;
};

/** The limit that lasts longest, be it over or not; null when none was ever met. */
export function parkOf(row: ParkRow): Park | null {
  const parks: Park[] = [];
  for (const scope of ['channel', 'server', 'network'] as const) {
    const until = row[`${scope}_park`];
    if (until !== null) {
      parks.push({ scope, untilMs: new Date(until).getTime() });
    }
  }

  return parks.toSorted((a, b) => b.untilMs - a.untilMs)[0] ?? null;
}

/** Writes down a limit. One that lasts longer is never shortened: a later answer may know of another limit only. */
export async function park(em: Em, target: PublishTarget, scope: LimitScope, until: Date) {
  const { workspaceId, channelId, platform, baseUrl } = target;
  if (scope === 'channel') {
    await em.execute(
      'update channels set parked_until = greatest(parked_until, ?) where id = ? and workspace_id = ?',
      [until, channelId, workspaceId],
    );
    return;
  }

  await em.execute(
    `insert into network_parks (platform, base_url, parked_until) values (?, ?, ?)
     on conflict (platform, base_url)
       do update set parked_until = greatest(network_parks.parked_until, excluded.parked_until)`,
    [platform, scope === 'server' ? baseUrl : '', until],
  );
}

/** For the user: which limit it is. */
export function parkedMessage({ scope, untilMs }: Park): string {
  const whose = {
    channel: 'The network limits how often this account may post',
    server: "The network's server limits how often this service may ask it, over all accounts",
    network: 'The network limits how often this service may ask it, over all accounts',
  }[scope];
  return `${whose}, and the limit is used up until ${new Date(untilMs).toISOString()}.`;
}
