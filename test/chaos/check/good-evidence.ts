import type { ChannelResult, PostView } from '../../../domain/post-view.ts';
import type { PostHistory } from '../post-history.ts';
import { makePlan } from '../plan/make-plan.ts';
import type { ChaosPlan } from '../plan/post-plan.ts';
import type { Found } from '../networks/read-networks.ts';
import type { Evidence } from './evidence.ts';

// A run without violations for the tests of the checks, with the changes of a test.

const marker = 'r1-p0001';

/** When the post is due, in milliseconds since 1970. */
export const dueMs = 10_000;

const url = (part: number): string => `https://mastodon.example/${part}`;

/** A part of the post on its network. */
export const found = (part: number, change: Partial<Found> = {}): Found => ({
  marker,
  part,
  parts: 2,
  version: 1,
  channel: 0,
  id: String(part),
  url: url(part),
  parentId: part === 1 ? null : String(part - 1),
  files: [],
  ...change,
});

export type Changes = Partial<Pick<Evidence, 'found' | 'creates' | 'events'>> & {
  readonly access?: Partial<Evidence['access']>;
  readonly history?: Partial<PostHistory>;
  readonly end?: Partial<PostView>;
  readonly channel?: Partial<ChannelResult>;
};

/** A thread of two parts on one channel that went out on time, and whose event has not arrived yet. */
export const evidenceOf = (changes: Changes = {}): Evidence => ({
  plan: planOfOne(),
  startMs: 0,
  disturbances: [],
  channels: [
    {
      id: 'c0',
      platform: 'mastodon',
      account: 'me',
      revoke: async () => undefined,
      reconnect: null,
      grants: async () => [],
      read: async () => [],
    },
  ],
  histories: [goodHistory(changes)],
  found: changes.found ?? [found(1), found(2)],
  creates: changes.creates ?? [{ labels: [found(1)], askedAtMs: dueMs + 100, account: 'me' }],
  events: changes.events ?? [],
  access: {
    refreshes: [],
    grants: [],
    states: ['connected'],
    restores: [],
    ends: [],
    pauses: [],
    mended: 0,
    resent: 0,
    ...changes.access,
  },
  figures: { seen: [], totals: noTotals, listed: noTotals },
  secret: 'whsec_test',
});

const noTotals = { posts: 0, likes: 0, comments: 0, shares: 0, saves: 0 };

const planOfOne = (): ChaosPlan => ({
  ...makePlan({ posts: 1, seed: 1, server: 'dev', minutes: 1, keep: false }),
  channels: [
    { platform: 'mastodon', revokedAtMs: null, isFrail: false, isBlind: false, isTried: false },
  ],
  outages: [],
  serverOutages: [],
});

function goodHistory({ history, end, channel }: Changes): PostHistory {
  const published = {
    channel_id: 'c0',
    status: 'published',
    url: url(1),
    error: null,
    warning: null,
  };
  const result = { ...published, error_code: null, ...channel };
  return {
    plan: { marker, parts: 2, channels: [0], createMs: 0, dueMs, steps: [], files: [], faults: [] },
    id: 'p1',
    version: 1,
    inForce: [{ dueMs, version: 1, fromMs: 0, untilMs: Infinity }],
    cancels: [],
    retries: 0,
    unsureRetries: 0,
    isDraft: false,
    endedAtMs: null,
    calledAtMs: 0,
    acts: [],
    restores: 0,
    settled: 0,
    isGone: false,
    // The checks read no other field of a post.
    end: { status: 'published', channels: [result], ...end } as PostView,
    ...history,
  };
}
