import type { ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { NetworkError, type Account, type Network } from '../../networks/network.ts';
import { openNetworks, platforms, type Platform } from '../../networks/registry.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { openConnection } from '../networks/connection.ts';
import { fileOf, type TestPartMedia } from '../networks/files.ts';
import { answering, answersNear } from './made-up-answers.ts';
import type { Property } from './property.ts';

type Subject = Pick<Account, 'remoteId' | 'credentials'> & {
  /** The network's successful answers, as JSON. */
  readonly answers: readonly unknown[];
};

const token = { accessToken: 'token' };

const subjects: Readonly<Record<Platform, Subject>> = {
  x: {
    remoteId: '42',
    credentials: token,
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
  linkedin: {
    remoteId: 'urn:li:person:1',
    credentials: token,
    answers: [
      { elements: [{ id: 'urn:li:share:1', commentary: 'Hello', createdAt: 1_767_225_601_000 }] },
      { value: { uploadUrl: 'http://127.0.0.1:9/up', image: 'urn:li:image:1' } },
      { status: 422, message: 'Content is a duplicate of urn:li:share:1', code: 'DUPLICATE_POST' },
      { status: 426, message: 'A requested version is not active', code: 'NONEXISTENT_VERSION' },
    ],
  },
  bluesky: {
    remoteId: 'did:plc:abc',
    credentials: { identifier: 'did:plc:abc', appPassword: 'x' },
    answers: [
      { did: 'did:plc:abc', accessJwt: 'a.b.c', refreshJwt: 'd.e.f', handle: 'me.example' },
      { uri: 'at://did:plc:abc/app.bsky.feed.post/1', cid: 'bafyreib' },
      { results: [{ uri: 'at://x', cid: 'y' }], commit: { cid: 'z', rev: '1' } },
      { error: 'RateLimitExceeded', message: 'Slow down' },
    ],
  },
  mastodon: {
    remoteId: '1',
    credentials: token,
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
  youtube: {
    remoteId: 'UCabc',
    credentials: token,
    answers: [
      {
        id: 'v1',
        snippet: { title: 'Hello', publishedAt: '2026-01-01T00:00:01Z', channelId: 'UCabc' },
        status: { uploadStatus: 'processed', privacyStatus: 'public' },
      },
      { items: [{ id: 'v1', contentDetails: { videoId: 'v1' }, status: {} }], nextPageToken: 'n' },
      { error: { code: 403, message: 'No', errors: [{ reason: 'quotaExceeded' }] } },
    ],
  },
};

/** For any answer of a network, every call of its adapter returns a valid result or throws a NetworkError. */
export async function networkProperties(t: ExecutionContext): Promise<Property[]> {
  const { load } = openNetworks({});
  const networks = await load();
  return platforms.map((platform) => {
    const network = networks[platform];
    if (!network) {
      throw new Error(`${platform} has no adapter.`);
    }

    const { answers } = subjects[platform];
    return {
      name: `answers of ${platform}`,
      check: fc.asyncProperty(answersNear(answers), fc.boolean(), async (made, hasFilm) => {
        try {
          const media = hasFilm || platform === 'youtube' ? [film] : [];
          await publish(t, network, { ...subjects[platform], media }, answering(made));
        } catch (error) {
          assertNetworkError(error);
        }
      }),
    };
  });
}

const film: TestPartMedia = fileOf(Buffer.alloc(3000, 7), { name: 'a.mp4', type: 'video/mp4' });

async function publish(
  t: ExecutionContext,
  network: Network,
  { remoteId, credentials, media }: Subject & { readonly media: readonly TestPartMedia[] },
  http: Egress,
): Promise<void> {
  const baseUrl = 'http://127.0.0.1:9'; // No connection is made: the answers are generated.
  const account = { baseUrl, remoteId, handle: '@me', credentials, session: null, settings: {} };
  const connection = openConnection(t, account, { http });
  const parts = [{ key: 'k-0', text: 'Hello', media, options: {} }];
  const prepared = await network.prepare(connection, parts, Date.parse('2026-01-01T00:00:00Z'));
  const step = { parts: prepared, sent: [] };
  let sent = null;
  try {
    const files = await network.upload(connection, step);
    sent = await network.send(connection, step, files);
  } catch (error) {
    assertNetworkError(error);
  }

  for (const [index, part] of (sent ?? []).entries()) {
    assertText(part);
    await network.readiness?.(connection, prepared[index] ?? never(), part);
  }

  const finding = await network.reconcile(connection, step);
  (finding.kind === 'found' ? finding.candidates.flat() : []).forEach(assertText);
}

function never(): never {
  throw new Error('More parts were sent than there are.');
}

function assertNetworkError(error: unknown): asserts error is NetworkError {
  if (!(error instanceof NetworkError)) {
    throw error;
  }

  if (error.retryAtMs !== undefined && !Number.isFinite(error.retryAtMs)) {
    throw new Error('retryAtMs is not a finite number.', { cause: error });
  }
}

function assertText({ remoteId, url }: { remoteId: unknown; url: unknown }): void {
  if (
    typeof remoteId !== 'string' ||
    remoteId === '' ||
    typeof url !== 'string' ||
    !/^https?:\/\//v.test(url)
  ) {
    throw new Error(
      `The post has no valid id or url: ${JSON.stringify(remoteId)}, ${JSON.stringify(url)}`,
    );
  }
}
