import type { ChannelResult, PostView } from '../../../domain/post-view.ts';
import type { PostHistory } from '../post-history.ts';
import type { ChaosChannel } from '../networks/connect-channels.ts';
import type { SeenCreate } from '../networks/network-line.ts';
import type { Found } from '../networks/read-networks.ts';
import type { AnsweredEvent } from '../parts/receiver.ts';
import type { SeenRefresh } from '../networks/refreshes.ts';
import type { FiguresEvidence } from '../watch-figures.ts';
import type { ChaosPlan } from '../plan/post-plan.ts';

/** Everything that is known about grants at the end of a run. */
export type AccessEvidence = {
  /** Requests for new tokens, as the networks received them. */
  readonly refreshes: readonly SeenRefresh[];
  /** The networks' own records. */
  readonly grants: readonly GivenGrant[];
  /** The state of each channel in the API at the end, by its number. */
  readonly states: readonly string[];
  readonly restores: readonly { readonly backupAtMs: number; readonly restoredAtMs: number }[];
  /** When processes ended. */
  readonly ends: readonly { readonly name: string; readonly atMs: number }[];
  /** When worker processes were suspended. */
  readonly pauses: readonly { readonly fromMs: number; readonly untilMs: number }[];
  /** How often owners reconnected accounts, and how many posts they retried afterwards. */
  readonly mended: number;
  readonly resent: number;
};

export type GivenGrant = {
  /** The channel's number. */
  readonly channel: number;
  /** Its owner revoked it, or its network ended it because a token was sent twice. */
  readonly isRevoked: boolean;
  readonly refreshTokens: readonly string[];
};

/** Everything that is known at the end of a run, without the product's own database. */
export type Evidence = {
  readonly plan: ChaosPlan;
  /** In milliseconds since 1970. */
  readonly startMs: number;
  /** When each fault that affects all posts came, in milliseconds since 1970. */
  readonly disturbances: readonly number[];
  readonly channels: readonly ChaosChannel[];
  readonly histories: readonly PostHistory[];
  /** Posts on the networks. */
  readonly found: readonly Found[];
  /** Requests for posts, recorded on their way to the networks. */
  readonly creates: readonly SeenCreate[];
  readonly events: readonly AnsweredEvent[];
  readonly access: AccessEvidence;
  readonly figures: FiguresEvidence;
  /** The secret that signs the events. */
  readonly secret: string;
};

export const invariants = [
  'posts that never ended',
  'posts that were lost',
  'posts or parts that are live twice',
  'thread parts out of order',
  'files missing, or too many',
  'published after an acknowledged cancel',
  'published before its time',
  'published without an acknowledged edit',
  'status that differs from the network',
  'live, but not shown by the API',
  'live after its removal',
  'not published, without an error code',
  'unconfirmed although the network could tell',
  'late while another server hung',
  'refresh tokens sent again',
  'access lost without a cause',
  'metrics that fell',
  'totals that differ from the listed posts',
  'events missing',
  'events too many',
  'events changed or not signed',
  'failed calls',
] as const;
export type Invariant = (typeof invariants)[number];

export type Violation = {
  readonly invariant: Invariant;
  /** The post's marker, or '' for a violation without a post. */
  readonly marker: string;
  readonly what: string;
};

/** A post on one channel, at the end. */
export type Sent = {
  readonly history: PostHistory;
  /** The channel's number. */
  readonly channel: number;
  readonly post: PostView;
  readonly result: ChannelResult;
  /** Its parts on the network, in the network's order. */
  readonly found: readonly Found[];
};

/** Each ended post on each of its channels. */
export function eachSent({ histories, channels, found }: Evidence): Sent[] {
  const byPlace = Map.groupBy(found, ({ marker, channel }) => `${marker} ${channel}`);
  return histories.flatMap((each): Sent[] => {
    const post = each.end;
    return (post?.channels ?? []).flatMap((result) => {
      const channel = channels.findIndex(({ id }) => id === result.channel_id);
      const there = byPlace.get(`${each.plan.marker} ${channel}`) ?? [];
      return post ? [{ history: each, channel, post, result, found: there }] : [];
    });
  });
}

/** Whether all parts of the post are on the network. */
export const isComplete = ({ history, found }: Sent): boolean =>
  new Set(found.map(({ part }) => part)).size === history.plan.parts;

export const nameOf = ({ channels }: Evidence, { channel, result }: Sent): string =>
  `${channels[channel]?.platform} channel ${channel} (${result.status}${result.error_code ? `, ${result.error_code}` : ''})`;
