import type { ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { NetworkError, type Account, type PostReading } from '../../networks/network.ts';
import { openNetworks, platforms, type Platform } from '../../networks/registry.ts';
import { openConnection } from '../networks/connection.ts';
import { answering, answersNear } from './made-up-answers.ts';
import type { Property } from './property.ts';

type Subject = Pick<Account, 'remoteId' | 'credentials' | 'settings'> & {
  readonly ids: readonly string[];
  /** The network's successful answers, as JSON. */
  readonly answers: readonly unknown[];
};

const credentials = { accessToken: 'token' };
const settings = {};
const post = 'at://did:plc:abc/app.bsky.feed.post/3abc';

const subjects: Readonly<Record<Platform, readonly Subject[]>> = {
  x: [
    {
      remoteId: '42',
      credentials,
      settings,
      ids: ['1', '2'],
      answers: [
        {
          data: [{ id: '1', public_metrics: { like_count: 1, repost_count: 2, quote_count: 3 } }],
          errors: [{ resource_id: '2', type: 'https://api.x.com/2/problems/resource-not-found' }],
        },
      ],
    },
  ],
  linkedin: [
    {
      remoteId: 'urn:li:person:1',
      credentials,
      settings,
      ids: ['urn:li:share:1', 'urn:li:ugcPost:2'],
      answers: [
        { elements: [{ count: 7 }] },
        { elements: [{ memberFollowersCount: 7 }] },
        { status: 404, code: 'NOT_FOUND', message: 'Could not find entity' },
      ],
    },
    {
      remoteId: 'urn:li:organization:1',
      credentials,
      settings: { isOrganization: true },
      ids: ['urn:li:share:1', 'urn:li:ugcPost:2'],
      answers: [
        { elements: [{ share: 'urn:li:share:1', totalShareStatistics: { likeCount: 1 } }] },
        { firstDegreeSize: 3 },
      ],
    },
  ],
  bluesky: [
    {
      remoteId: 'did:plc:abc',
      credentials: { identifier: 'did:plc:abc', appPassword: 'x' },
      settings,
      ids: [post],
      answers: [
        { did: 'did:plc:abc', accessJwt: 'a.b.c', refreshJwt: 'd.e.f', handle: 'me.example' },
        { posts: [{ uri: post, likeCount: 1, replyCount: 2, repostCount: 3, quoteCount: 4 }] },
        { did: 'did:plc:abc', handle: 'me.example', followersCount: 5 },
        { error: 'RecordNotFound', message: 'Could not locate record' },
      ],
    },
  ],
  mastodon: [
    {
      remoteId: '1',
      credentials,
      settings,
      ids: ['1', '2'],
      answers: [
        { id: '1', favourites_count: 1, replies_count: 2, reblogs_count: 3, followers_count: 4 },
        { error: 'Record not found' },
      ],
    },
  ],
  youtube: [
    {
      remoteId: 'UCabc',
      credentials,
      settings,
      ids: ['v1', 'v2'],
      answers: [
        { items: [{ id: 'v1', statistics: { likeCount: '1', commentCount: '2' } }] },
        { items: [{ id: 'UCabc', statistics: { subscriberCount: '3' } }] },
        { items: [] },
      ],
    },
  ],
};

/** For any answer of a network, the result is whole numbers for posts that were asked for, or a NetworkError. */
export async function figureProperties(t: ExecutionContext): Promise<Property[]> {
  const networks = await openNetworks({}).load();
  return platforms.flatMap((platform) =>
    subjects[platform].map((subject) => ({
      name: `figures of ${platform}, ${subject.remoteId}`,
      check: fc.asyncProperty(answersNear(subject.answers), async (made) => {
        const reader = networks[platform]?.metrics;
        if (!reader) {
          throw new Error(`${platform} reads no metrics.`);
        }
        const baseUrl = 'http://127.0.0.1:9'; // No connection is made: the answers are generated.
        const account = { ...subject, baseUrl, handle: '@me', session: null };
        const connection = openConnection(t, account, { http: answering(made) });
        await reader.read(connection, subject.ids).then((readings) => {
          assertReadings(readings, subject.ids);
        }, assertNothingTaken);
        await reader.followers?.(connection).then(assertCount, assertNothingTaken);
      }),
    })),
  );
}

function assertReadings(readings: ReadonlyMap<string, PostReading>, ids: readonly string[]): void {
  for (const [id, reading] of readings) {
    if (!ids.includes(id)) {
      throw new Error(`A reading is for a post that was not asked for: ${JSON.stringify(id)}.`);
    }
    Object.values(reading.kind === 'read' ? reading.metrics : {}).forEach(assertCount);
  }
}

function assertCount(count: number | null): void {
  if (count !== null && !(Number.isSafeInteger(count) && count >= 0)) {
    throw new Error(`${count} is not a count.`);
  }
}

function assertNothingTaken(error: unknown): void {
  if (!(error instanceof NetworkError) || error.accepted !== 'no') {
    throw error;
  }
}
