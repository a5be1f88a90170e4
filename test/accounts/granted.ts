import type { ExecutionContext } from 'ava';
import { connectChannel } from '../../services/channels/connect-channel.ts';
import type { ActivityDeps } from '../../activities/deps.ts';
import type { Json } from '../../domain/json-schema.ts';
import { NetworkError } from '../../networks/network.ts';
import type { Grant, Oauth } from '../../networks/oauth/contract.ts';
import { fakeNetwork } from '../support/networks.ts';
import { postSteps } from '../support/post-steps.ts';

const hourMs = 3_600_000;

/** A token endpoint with single-use refresh tokens: a reused one ends the grant. */
export type Authority = {
  /** The refresh token of each refresh, in order. */
  readonly spent: string[];
  /** Thrown by refreshes when set. */
  away: NetworkError | undefined;
  /** The grant is revoked. */
  isOver: boolean;
  /** Awaited by each refresh before it answers. */
  slowly: () => Promise<unknown>;
  readonly grant: (lives: { forMs: number; endsAtMs?: number | null }) => Grant;
  readonly oauth: Oauth;
};

export function authority(now: () => Date): Authority {
  const unused = new Set<string>();
  const issue = (accessEndsAtMs: number, endsAtMs: number | null): Grant => {
    const refreshToken = `refresh-${crypto.randomUUID()}`;
    unused.add(refreshToken);
    return {
      accessToken: `access-${crypto.randomUUID()}`,
      accessEndsAtMs,
      refreshToken,
      endsAtMs,
    };
  };
  const self: Authority = {
    spent: [],
    away: undefined,
    isOver: false,
    slowly: () => Promise.resolve(),
    grant: ({ forMs, endsAtMs = null }) => issue(now().getTime() + forMs, endsAtMs),
    oauth: {
      begin: () => Promise.reject(new Error('Not in this test.')),
      finish: () => Promise.reject(new Error('Not in this test.')),
      refresh: async ({ grant }) => {
        self.spent.push(grant.refreshToken ?? '');
        await self.slowly();
        if (self.away) {
          throw self.away;
        }

        if (self.isOver || !unused.delete(grant.refreshToken ?? '')) {
          self.isOver = true;
          throw new NetworkError('access_lost', 'The grant is over.', { accepted: 'no' });
        }

        return issue(now().getTime() + hourMs, grant.endsAtMs);
      },
    },
  };
  return self;
}

/** A workspace with one channel of an OAuth network. */
export async function granted(
  t: ExecutionContext,
  databaseUrl: string,
  lives: { forMs: number; endsAtMs?: number | null },
) {
  const network = fakeNetwork();
  const used: Json[] = [];
  const { send } = network;
  network.send = (...args) => {
    used.push(args[0].credentials);
    return send(...args);
  };
  const steps = await postSteps(t, { a: network }, databaseUrl);
  const tokens = authority(steps.deps.now);
  const oauth = { a: { missing: [], fields: {}, load: () => Promise.resolve(tokens.oauth) } };
  Object.assign(steps.deps, { oauth } satisfies Pick<ActivityDeps, 'oauth'>);
  await steps.subscribe('channel.needs_reconnect', 'channel.at_risk');
  const { orm, sealer } = steps.deps;
  const account = {
    baseUrl: 'https://fake.example',
    remoteId: 'me',
    handle: '@me',
    credentials: {},
    session: null,
    settings: {},
  };
  const connect = (grant: Grant, remoteId = 'me') => {
    const ofMember = { ...account, remoteId };
    return connectChannel(orm.em.fork(), sealer, steps.workspaceId, 'a', ofMember, { grant });
  };
  const channel = await connect(tokens.grant(lives));
  const told = async (): Promise<string[]> => {
    const rows = await orm.em
      .fork()
      .execute<{ type: string }[]>(
        'select type from events where channel_id = ? order by created_at',
        [channel.id],
      );
    return rows.map(({ type }) => type);
  };
  const due = async () => {
    const post = await steps.create({
      body: `Post ${crypto.randomUUID()}`,
      channel_ids: [channel.id],
      schedule_in_minutes: 0,
    });
    const [target] = (await steps.claimOrThrow(post)).targets;
    return { post, attemptOnce: () => steps.attempt(post, target?.postChannelId ?? '') };
  };
  const state = async () => {
    const [row] = await orm.em
      .fork()
      .execute<{ state: string; error: string | null }[]>(
        'select state, error from channels where id = ?',
        [channel.id],
      );
    return row;
  };
  return { network, used, steps, tokens, connect, channel, told, due, state };
}
