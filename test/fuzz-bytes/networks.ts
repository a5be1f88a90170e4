import type { ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { NetworkError, type Network } from '../../networks/network.ts';
import { openNetworks, platforms } from '../../networks/registry.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import { openConnection } from '../networks/connection.ts';
import { fileOf, type TestPartMedia } from '../networks/files.ts';
import { answering, answersNear } from './made-up-answers.ts';
import type { Property } from './property.ts';
import { subjects, type Subject } from './subjects.ts';

/** For any answer of a network, every call of its adapter returns a valid result or throws a NetworkError. */
export async function networkProperties(t: ExecutionContext): Promise<Property[]> {
  const { load } = openNetworks({});
  const networks = await load();
  return platforms.map((platform) => {
    const network = networks[platform];
    if (!network) {
      throw new Error(`${platform} has no adapter.`);
    }

    const { needsFilm, ...subject } = subjects[platform].publishing;
    return {
      name: `answers of ${platform}`,
      check: fc.asyncProperty(answersNear(subject.answers), fc.boolean(), async (made, hasFilm) => {
        try {
          const media = hasFilm || needsFilm ? [film] : [];
          await publish(t, network, { ...subject, media }, answering(made));
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
  {
    remoteId,
    credentials,
    media,
  }: Subject['publishing'] & { readonly media: readonly TestPartMedia[] },
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
