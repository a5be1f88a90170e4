import type { AnySchema } from 'ajv';
import type { ErrorCode } from '../../domain/errors.ts';

/** Who is calling. Every query names the workspace. */
export type Caller = { readonly workspaceId: string; readonly plan: string | null };

export type Request = {
  readonly caller: Caller;
  /** Path parameters; a malformed id never gets here. */
  readonly params: Readonly<Record<string, string>>;
  /** Checked against the route's schema. */
  readonly body: unknown;
  /** @returns a header's value, or undefined. */
  readonly header: (name: string) => string | undefined;
};

export type Answer = {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
};

/** One call of the API, as data: the server and the OpenAPI document are made from the same list. */
export type Route = {
  readonly method: 'get' | 'post';
  /** As in OpenAPI, relative to `/api/v1`: `/posts/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** JSON Schema of the body; a route without one takes none. */
  readonly body?: AnySchema;
  readonly requestHeaders?: Readonly<Record<string, { description: string; schema: object }>>;
  /** By status: what it means, and the JSON Schema of the answer. */
  readonly answers: Readonly<Record<number, { description: string; schema: object }>>;
  /** The failures that this call can have, beside those that every call can. */
  readonly errors: readonly ErrorCode[];
  readonly handle: (request: Request) => Promise<Answer>;
};
