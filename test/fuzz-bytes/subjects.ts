import type { Account } from '../../networks/network.ts';
import type { Platform } from '../../networks/registry.ts';
import { assertFacts } from '../support/assert-facts.ts';

type Connected = Pick<Account, 'remoteId' | 'credentials'>;

/** A network's successful answers, as JSON, and the accounts that get them. */
export type Subject = {
  readonly publishing: Connected & {
    readonly answers: readonly unknown[];
    /** Whether every post has a video. */
    readonly needsFilm?: true;
  };
  readonly figures: readonly FiguresSubject[];
};

type FiguresSubject = Connected &
  Pick<Account, 'settings'> & {
    /** The posts that are asked for. */
    readonly ids: readonly string[];
    readonly answers: readonly unknown[];
  };

const credentials = { accessToken: 'token' };
const settings = {};
const post = 'at://did:plc:abc/app.bsky.feed.post/3abc';
const onBluesky = { identifier: 'did:plc:abc', appPassword: 'x' };

/** A new network needs an entry here. */
export const subjects: Readonly<Record<Platform, Subject>> = {
  x: {
    publishing: {
      remoteId: '42',
      credentials,
      answers: [
        { data: { id: '1', text: 'Hello' } },
        {
          data: [
            { id: '1', text: 'Hello', conversation_id: '1', created_at: '2026-01-01T00:00:01Z' },
          ],
          meta: { next_token: 'n', result_count: 1 },
        },
        { data: { id: '7', processing_info: { state: 'pending', check_after_secs: 1 } } },
        { title: 'Too Many Requests', status: 429, detail: 'Too many', type: 'about:blank' },
        { detail: 'You are not allowed to create a Tweet with duplicate content.', status: 403 },
      ],
    },
    figures: [
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
  },
  linkedin: {
    publishing: {
      remoteId: 'urn:li:person:1',
      credentials,
      answers: [
        { elements: [{ id: 'urn:li:share:1', commentary: 'Hello', createdAt: 1_767_225_601_000 }] },
        { value: { uploadUrl: 'http://127.0.0.1:9/up', image: 'urn:li:image:1' } },
        {
          status: 422,
          message: 'Content is a duplicate of urn:li:share:1',
          code: 'DUPLICATE_POST',
        },
        { status: 426, message: 'A requested version is not active', code: 'NONEXISTENT_VERSION' },
      ],
    },
    figures: [
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
  },
  bluesky: {
    publishing: {
      remoteId: 'did:plc:abc',
      credentials: onBluesky,
      answers: [
        { did: 'did:plc:abc', accessJwt: 'a.b.c', refreshJwt: 'd.e.f', handle: 'me.example' },
        { uri: 'at://did:plc:abc/app.bsky.feed.post/1', cid: 'bafyreib' },
        { results: [{ uri: 'at://x', cid: 'y' }], commit: { cid: 'z', rev: '1' } },
        { error: 'RateLimitExceeded', message: 'Slow down' },
      ],
    },
    figures: [
      {
        remoteId: 'did:plc:abc',
        credentials: onBluesky,
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
  },
  mastodon: {
    publishing: {
      remoteId: '1',
      credentials,
      answers: [
        {
          id: '1',
          uri: 'https://a.example/1',
          url: 'https://a.example/@me/1',
          content: '<p>Hello</p>',
        },
        [{ id: '1', uri: 'https://a.example/1', content: 'Hello' }],
        { error: 'Text character limit of 500 exceeded' },
      ],
    },
    figures: [
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
  },
  youtube: {
    publishing: {
      remoteId: 'UCabc',
      credentials,
      answers: [
        {
          id: 'v1',
          snippet: { title: 'Hello', publishedAt: '2026-01-01T00:00:01Z', channelId: 'UCabc' },
          status: { uploadStatus: 'processed', privacyStatus: 'public' },
        },
        {
          items: [{ id: 'v1', contentDetails: { videoId: 'v1' }, status: {} }],
          nextPageToken: 'n',
        },
        { error: { code: 403, message: 'No', errors: [{ reason: 'quotaExceeded' }] } },
      ],
      needsFilm: true,
    },
    figures: [
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
  },
};

assertFacts(subjects, 'test/fuzz-bytes/subjects.ts');
