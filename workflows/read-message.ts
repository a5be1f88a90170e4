import { log } from '@temporalio/workflow';
import { parseInstant } from '../domain/due-time.ts';

// A signal may be typed into Temporal's Web UI. A handler that throws fails the workflow's task again and again, and a
// time that is none would wake it at once: so what is not as our own processes send it is ignored.

/** The largest `integer` of PostgreSQL, which revisions and rounds are. */
const largest = 2 ** 31 - 1;

export type Reschedule = { readonly revision: number; readonly dueAtMs: number };

export function readReschedule(given: unknown): Reschedule | null {
  const { revision, dueAt } = fieldsOf(given);
  const due = typeof dueAt === 'string' ? parseInstant(dueAt) : null;
  return isCount(revision) && due !== null
    ? { revision, dueAtMs: due.getTime() }
    : ignored('reschedule');
}

export type Cancel = { readonly revision: number; readonly isUnfinished: boolean };

export function readCancel(given: unknown): Cancel | null {
  const { revision, unfinished } = fieldsOf(given);
  return isCount(revision) ? { revision, isUnfinished: unfinished === true } : ignored('cancel');
}

/** @returns the round. */
export function readReplay(given: unknown): number | null {
  const { round } = fieldsOf(given);
  return isCount(round) ? round : ignored('replay');
}

type Fields = Readonly<Partial<Record<'revision' | 'dueAt' | 'unfinished' | 'round', unknown>>>;

const fieldsOf = (given: unknown): Fields =>
  typeof given === 'object' && given !== null ? given : {};

const isCount = (given: unknown): given is number =>
  Number.isInteger(given) && Number(given) >= 1 && Number(given) <= largest;

function ignored(signal: string): null {
  log.warn('a signal that is not as Punctual sends it was ignored', { signal });
  return null;
}
