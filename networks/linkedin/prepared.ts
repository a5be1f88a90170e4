import type { Json } from '../../domain/json-schema.ts';
import { answerReader } from '../answer.ts';
import { idTimeMs } from './urns.ts';

/** Data that all attempts of a part share. */
export type Prepared = {
  /** Posts of this part are not older than this time, by our clock. */
  readonly preparedAtMs: number;
  readonly mediaCount: number;
  /** Whether a send is in doubt and LinkedIn does not show whether it arrived. */
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

/** @throws Error for data that `prepare` did not make. */
export function preparedOf(data: Json): Prepared {
  const prepared = read(data);
  if (!prepared) {
    throw new Error('A part was not prepared for LinkedIn.');
  }

  return prepared;
}

/** The largest assumed difference between our clock and LinkedIn's, in milliseconds. */
const clockSkewMs = 60_000;

/** Whether an entity with this creation time, by LinkedIn's clock, may belong to a part. */
export const mayBeOf = ({ preparedAtMs }: Prepared, createdAtMs: number): boolean =>
  createdAtMs >= preparedAtMs - clockSkewMs;

/** Whether the existing post of a duplicate refusal may come from a send in doubt. An older post does not. */
export const mayBeOurs = (prepared: Prepared, urn: string): boolean =>
  prepared.isDoubted === true && mayBeOf(prepared, idTimeMs(urn));
