import { sql } from 'kysely';
import type { LimitScope } from '../domain/channel-error.ts';
import type { Em } from './orm.ts';
import { query } from './query.ts';

/** A rate limit of a network, shared by all workers. No attempt in its scope starts before its end. */
export type NetworkLimit = { readonly scope: LimitScope; readonly untilMs: number };

/** Columns and joins for {@link longestLimit}, in a statement with the channel as `c`. */
export const limitColumns = sql`c.parked_until as channel_limit, server.parked_until as server_limit,
  network.parked_until as network_limit`;
export const limitJoins = sql`
  left join network_parks server on server.platform = c.platform and server.base_url = c.base_url
  left join network_parks network on network.platform = c.platform and network.base_url = ''`;

export type LimitRow = {
  channel_limit: Date | null;
  server_limit: Date | null;
  network_limit: Date | null;
};

/** Returns the limit with the latest end, which may have passed; null if there was none. */
export function longestLimit(row: LimitRow): NetworkLimit | null {
  const limits: NetworkLimit[] = [];
  for (const scope of ['channel', 'server', 'network'] as const) {
    const until = row[`${scope}_limit`];
    if (until !== null) {
      limits.push({ scope, untilMs: until.getTime() });
    }
  }

  return limits.toSorted((a, b) => b.untilMs - a.untilMs)[0] ?? null;
}

type Limited = {
  readonly workspaceId: string;
  readonly channelId: string;
  readonly platform: string;
  readonly baseUrl: string;
};

/** Stores a limit. Never shortens one, because a later response may refer to another limit. */
export async function recordLimit(
  em: Em,
  { workspaceId, channelId, platform, baseUrl }: Limited,
  scope: LimitScope,
  until: Date,
): Promise<void> {
  await query(
    em,
    scope === 'channel'
      ? sql`update channels set parked_until = greatest(parked_until, ${until})
          where id = ${channelId} and workspace_id = ${workspaceId}`
      : sql`insert into network_parks (platform, base_url, parked_until)
          values (${platform}, ${scope === 'server' ? baseUrl : ''}, ${until})
          on conflict (platform, base_url)
            do update set parked_until = greatest(network_parks.parked_until, excluded.parked_until)`,
  );
}
