import type { ChannelResult, PostView } from '../../../domain/post-view.ts';
import type { PostHistory } from '../post-history.ts';
import type { ChaosChannel } from '../networks/connect-channels.ts';
import type { SeenCreate } from '../networks/network-line.ts';
import type { Found } from '../networks/read-networks.ts';
import type { Taken } from '../parts/receiver.ts';
import type { SeenRefresh } from '../networks/refreshes.ts';
import type { FiguresEvidence } from '../watch-figures.ts';
import type { ChaosPlan } from '../plan/post-plan.ts';

/** All that is known of grants when a run is over. */
export type AccessEvidence = {
  /** Requests for new tokens, as the networks got them. */
  readonly refreshes: readonly SeenRefresh[];
  /** As the networks keep them. */
  readonly grants: readonly GivenGrant[];
  /** What the API says of each channel at the end, by its number. */
  readonly states: readonly string[];
  readonly restores: readonly { readonly backupAtMs: number; readonly restoredAtMs: number }[];
  /** When processes ended. */
  readonly ends: readonly { readonly name: string; readonly atMs: number }[];
  /** Worker processes stood still. */
  readonly pauses: readonly { readonly fromMs: number; readonly untilMs: number }[];
  /** How often owners connected accounts again, and how many posts were sent again for it. */
  readonly mended: number;
  readonly resent: number;
};

export type GivenGrant = {
  /** Number of the channel. */
  readonly channel: number;
  /** Its owner took it back, or its network ended it since a token was sent twice. */
  readonly isRevoked: boolean;
  readonly refreshTokens: readonly string[];
};

/** All that is known when a run is over, from everybody but the product's own database. */
export type Evidence = {
  readonly plan: ChaosPlan;
  /** In milliseconds since 1970. */
  readonly startMs: number;
  /** When a fault for all posts came, in milliseconds since 1970. */
  readonly disturbances: readonly number[];
  readonly channels: readonly ChaosChannel[];
  readonly histories: readonly PostHistory[];
  /** On the networks. */
  readonly found: readonly Found[];
  /** Requests on their way to the networks. */
  readonly creates: readonly SeenCreate[];
  readonly events: readonly Taken[];
  readonly access: AccessEvidence;
  readonly figures: FiguresEvidence;
  /** That events are signed with. */
  readonly secret: string;
};

export const invariants = [
  'posts that never ended',
  'posts that were lost',
  'posts or parts that are there twice',
  'thread parts out of order',
  'files missing, or too many',
  'published after an acknowledged cancel',
  'published before its time',
  'published as it was before an acknowledged edit',
  'status says other than the network',
  'live, and nothing says so',
  'not published, and no code says why',
  'unconfirmed although the network could tell',
  'late while another server hung',
  'refresh tokens sent again',
  'access lost, and nothing explains it',
  'metrics that fell',
  'metrics whose sum is another',
  'events missing',
  'events too many',
  'events changed or not signed',
  'calls that went wrong',
] as const;
export type Invariant = (typeof invariants)[number];

export type Violation = {
  readonly invariant: Invariant;
  /** The post's, or '' for what is about none. */
  readonly marker: string;
  readonly what: string;
};

/** A post on one channel, at the end. */
export type Sent = {
  readonly history: PostHistory;
  /** Its number. */
  readonly channel: number;
  readonly post: PostView;
  readonly result: ChannelResult;
  /** Its parts on the network, as the network lists them. */
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
export const isWhole = ({ history, found }: Sent): boolean =>
  new Set(found.map(({ part }) => part)).size === history.plan.parts;

export const nameOf = ({ channels }: Evidence, { channel, result }: Sent): string =>
  `${channels[channel]?.platform} channel ${channel} (${result.status}${result.error_code ? `, ${result.error_code}` : ''})`;
