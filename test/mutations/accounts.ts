import { mutationsOf, type Mutation } from './mutation.ts';

const accounts = ['test/accounts'];

/** How accounts stay connected, and how their owners hear that one does not. */
export const accountMutations: readonly Mutation[] = [
  ...mutationsOf('accounts/refresh-turn.ts', accounts, [
    [
      'two workers spend one refresh token',
      'and (refreshing_until is null or refreshing_until <= clock_timestamp())',
      '',
    ],
  ]),
  ...mutationsOf('accounts/refresh-and-store.ts', accounts, [
    [
      'a refresh token that is over is sent again',
      'grant: { ...grant, refreshToken: null }',
      'grant: { ...grant }',
    ],
    [
      'a token endpoint that is away keeps posts from going out while the old token lasts',
      'if (!old) {',
      'if (old !== undefined) {',
    ],
  ]),
  ...mutationsOf('accounts/grants.ts', accounts, [
    [
      'an access token may end on its way',
      'accessEndsAtMs - earlyMs <= nowMs',
      'accessEndsAtMs <= nowMs',
    ],
    [
      'a new grant is warned of as little as the one before it',
      'ends_at = excluded.ends_at, warned_of = null',
      'ends_at = excluded.ends_at, warned_of = excluded.ends_at',
    ],
  ]),
  ...mutationsOf('activities/account/refused-token.ts', accounts, [
    [
      'a bad hour of an API buys token after token',
      '- refreshedAt.getTime() < youngMs',
      '- refreshedAt.getTime() < 0',
    ],
    [
      'an API that refuses a token loses the channel, whatever the token endpoint says',
      'if (!isRefused || used === null || used.grant.refreshToken === null)',
      'if (isRefused || used === null || used.grant.refreshToken === null)',
    ],
  ]),
  ...mutationsOf('accounts/sweep-grants.ts', accounts, [
    ['an owner is warned each minute', 'set warned_of = ends_at', 'set warned_of = null'],
    [
      'an access that has ended is told of by the post that fails',
      'if (endsAt <= now) {',
      'if (endsAt < endsAt) {',
    ],
    [
      'an access that was taken back is told of by the post that fails',
      "and p.status = 'scheduled' and p.scheduled_at <=",
      "and p.status = 'draft' and p.scheduled_at <=",
    ],
  ]),
  ...mutationsOf('accounts/check-channel.ts', accounts, [
    [
      'a check takes a token that opens another account for access',
      'return remoteId === row.remote_id',
      'return remoteId !== null',
    ],
  ]),
  ...mutationsOf('accounts/lose-access.ts', accounts, [
    ['a channel that was believed lost and works stays lost', 'if (!isOver)', 'if (isOver)'],
  ]),
  ...mutationsOf('activities/publish-channel/publish-channel.ts', accounts, [
    ['a channel that was believed lost and publishes stays lost', 'if (job.isLost)', 'if (!job)'],
  ]),
  ...mutationsOf('accounts/connect-channel.ts', accounts, [
    [
      'an account that is connected twice at once fails, or is two channels',
      'await lockWorkspace(tx, workspaceId);\n      known = await find();',
      '',
    ],
  ]),
];
