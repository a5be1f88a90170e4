import type { TSchema } from 'typebox';
import {
  anyFields,
  fields,
  having,
  listOf,
  text,
  uuid,
  type Value,
} from '../domain/json-schema.ts';
import type { Punctual } from '../sdk/src/index.ts';

/** Hints for clients, which may ask a person before a call; the specification of MCP defines them. */
type Annotations = {
  readonly readOnlyHint: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  /** True unless given. */
  readonly openWorldHint?: boolean;
};

/** A task for a language model: a call of the API, and a short form of its answer. */
export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: Annotations;
  readonly input: TSchema;
  readonly output: TSchema;
  /** @param args They fit `input`. @param signal Aborts when the client hangs up. */
  readonly run: (client: Punctual, args: never, signal: AbortSignal) => Promise<object>;
};

/** Declares a tool whose `run` is type-checked against its input. */
export const tool = <const S extends TSchema>(
  given: Omit<Tool, 'input' | 'run'> & {
    readonly input: S;
    readonly run: (client: Punctual, args: Value<S>, signal: AbortSignal) => Promise<object>;
  },
): Tool => given;

export const reads = { readOnlyHint: true, openWorldHint: false } as const;
/** Adds something, at most once for each idempotency key. */
export const adds = { readOnlyHint: false, destructiveHint: false, idempotentHint: true } as const;
/** Changes what is or will be public. */
export const changes = { readOnlyHint: false, destructiveHint: true } as const;

export const mostRows = 20;

export const cursor = { ...text, description: '`next_cursor` of the page before' };

/** In the input of a tool that creates something. */
export const idempotencyKey = {
  ...text,
  pattern: '^[!-~]{1,255}$', // As a header can carry it.
  description: 'Your own; the same if you repeat the call',
};

/** Without `urn:uuid:`, which the format takes too. */
export const id = { ...uuid, maxLength: 36 };

export const onePost = fields({ post_id: id }, ['post_id']);

/** Fields of a post in answers; those without a value are left out. Short, since each tool repeats them. */
export const postFields = {
  text,
  scheduled_at: text,
  channels: listOf(anyFields),
};

export const postOutput = having({ id: text, status: text }, postFields);

/** A page of a list that has all rows. @param at `cursor` of the request: how many rows came before. */
export function pageOf<Row>(rows: readonly Row[], at: number) {
  const next = at + mostRows;
  return {
    rows: rows.slice(at, next),
    ...(rows.length > next ? { next_cursor: String(next) } : {}),
  };
}
