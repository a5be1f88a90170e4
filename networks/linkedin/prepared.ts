import type { Json } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import { idTimeMs } from './urns.ts';

/** What every try of a part shares. */
export type Prepared = {
  /** Nothing of ours is older. By our clock. */
  readonly preparedAtMs: number;
  readonly mediaCount: number;
  /** A send was in doubt, and LinkedIn does not show us whether it arrived. */
  readonly isDoubted?: boolean;
};

const read = answerReader<Prepared>({
  type: 'object',
  required: ['preparedAtMs', 'mediaCount'],
  properties: {
    preparedAtMs: { type: 'integer' },
    mediaCount: { type: 'integer', minimum: 0 },
    isDoubted: { type: 'boolean' },
  },
});

/** @throws Error for what `prepare` did not make. */
export function preparedOf(data: Json): Prepared {
  const prepared = read(data);
  if (!prepared) {
    throw new Error('A part was not prepared for LinkedIn.');
  }

  return prepared;
}

/** How far our clock and LinkedIn's may be apart, in milliseconds. */
const clockSkewMs = 60_000;

/** Whether something with this time, by LinkedIn's clock, may be of a part. */
export const mayBeOf = ({ preparedAtMs }: Prepared, createdAtMs: number): boolean =>
  createdAtMs >= preparedAtMs - clockSkewMs;

/** Whether the post that LinkedIn refuses a second one for may be what a send in doubt made: one of last week is not. */
export const mayBeOurs = (prepared: Prepared, urn: string): boolean =>
  prepared.isDoubted === true && mayBeOf(prepared, idTimeMs(urn));
