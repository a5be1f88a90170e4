import type { ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { NetworkError, type PostReading } from '../../networks/network.ts';
import { openNetworks, platforms } from '../../networks/registry.ts';
import { openConnection } from '../networks/connection.ts';
import { answering, answersNear } from './made-up-answers.ts';
import type { Property } from './property.ts';
import { subjects } from './subjects.ts';

/** For any answer of a network, the result is whole numbers for posts that were asked for, or a NetworkError. */
export async function figureProperties(t: ExecutionContext): Promise<Property[]> {
  const networks = await openNetworks({}).load();
  return platforms.flatMap((platform) =>
    subjects[platform].figures.map((subject) => ({
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
