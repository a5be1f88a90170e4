import type { Readable } from 'node:stream';
import type { TSchema } from 'typebox';
import type { ErrorCode } from '../../domain/errors.ts';
import type { Value } from '../../domain/json-schema.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { Tag } from '../openapi/info.ts';
import type { Multipart, MultipartOptions } from './read-multipart.ts';

/** Who is calling. Every query names the workspace. */
export type Caller = {
  readonly workspaceId: string;
  readonly plan: string | null;
  /** What the workspace may have. */
  readonly quotas: Quotas;
};

export type Request = {
  readonly caller: Caller;
  /** Path parameters; a malformed id never gets here. */
  readonly params: Readonly<Record<string, string>>;
  /** Query parameters, checked against the route's schemas; numbers are numbers. */
  readonly query: Readonly<Record<string, unknown>>;
  /** Checked against the route's schema. */
  readonly body: unknown;
  /** @param name In lower case. @returns a header's value, which may be empty, or undefined. */
  readonly header: (name: string) => string | undefined;
  /** For a call whose body is multipart: reads it, once the use case knows where its file goes. */
  readonly readMultipart: (options: MultipartOptions) => Promise<Multipart>;
  /** Aborts when the client hangs up before it has its answer. Made on the first call. */
  readonly clientSignal: () => AbortSignal;
};

type Answer = {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
};

/** What the OpenAPI document says of a header: its JSON Schema, and what it means. */
export type HeaderSpec = { readonly description: string; readonly schema: TSchema };

/** The header of an answer that made something. */
export const location = {
  description: 'The path of what was made.',
  schema: { type: 'string', format: 'uri-reference' },
} as const;

/** A query parameter: a JSON Schema of a string, a number or an integer. */
export type QuerySpec = {
  readonly description: string;
  readonly schema: TSchema;
  /** Says so in the document. The use case refuses, once it knows that what the path names exists. */
  readonly required?: true;
};

/** For the OpenAPI document, by a name in camelCase. A test holds every value against its schema. */
export type Examples = Readonly<
  Record<string, { readonly summary: string; readonly value: object }>
>;

export type AnswerSpec = {
  readonly description: string;
  /** JSON Schema of the body. */
  readonly schema: TSchema;
  /** Always sent with this answer, beside those that every answer has. */
  readonly headers?: Readonly<Record<string, HeaderSpec>>;
  readonly examples: Examples;
  /** Another media type that a call may ask for, which is answered as a stream. */
  readonly alsoAs?: string;
};

/** The query parameters that a call takes, by name. */
type QuerySpecs = Readonly<Record<string, QuerySpec>>;
/** The good answers of a call, by status. */
type AnswerSpecs = Readonly<Record<number, AnswerSpec>>;

/** One call of the API, as data: the server and the OpenAPI document are made from the same list. */
export type Route = {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** As in OpenAPI, relative to `/api/v1`: `/posts/{id}`. */
  readonly path: string;
  /** What generated clients call it. Stable, and unique over all calls. */
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  readonly query?: QuerySpecs;
  /** JSON Schema of the body; a route without one takes none. */
  readonly body?: TSchema;
  readonly bodyExamples?: Examples;
  /** It changes nothing, whatever its method: it counts as no write. */
  readonly isReadOnly?: true;
  /** `multipart`: `body` only describes it, and `handle` reads it, by `readMultipart`. JSON otherwise. */
  readonly bodyKind?: 'multipart';
  readonly requestHeaders?: Readonly<Record<string, HeaderSpec>>;
  readonly answers: AnswerSpecs;
  /** The failures that this call can have, beside those that every call can. */
  readonly errors: readonly ErrorCode[];
  readonly handle: (request: Request) => Promise<Answer>;
};

type BodyKind = Route['bodyKind'];

/** The values of a call's query parameters. */
export type QueryOf<Q extends QuerySpecs> = {
  readonly [Name in keyof Q]?: Value<Q[Name]['schema']>;
};

/** A request as the schemas of its route describe it. A multipart body is not read yet. */
type RequestOf<Q extends QuerySpecs, B extends TSchema, K extends BodyKind> = Omit<
  Request,
  'query' | 'body'
> & {
  readonly query: QueryOf<Q>;
  readonly body: K extends 'multipart' ? undefined : Value<B>;
};

/** One of the answers that a route describes. */
type AnswerOf<A extends AnswerSpecs> = {
  readonly [Status in keyof A & number]: Omit<Answer, 'status' | 'body'> & {
    readonly status: Status;
    readonly body:
      | Value<A[Status]['schema']>
      | (A[Status] extends { readonly alsoAs: string } ? Readable : never);
  };
}[keyof A & number];

/**
 * A route whose handler is checked against its schemas: what it takes by the types of `query` and `body`, and what it
 * answers by those of `answers`. `mount` parses requests by the same schemas.
 */
export const route = <
  const Q extends QuerySpecs,
  const B extends TSchema,
  const A extends AnswerSpecs,
  const R extends AnswerOf<A>,
  K extends BodyKind = undefined,
>(
  call: Omit<Route, 'query' | 'body' | 'bodyKind' | 'answers' | 'handle'> & {
    readonly query?: Q;
    readonly body?: B;
    readonly bodyKind?: K;
    readonly answers: A;
    readonly handle: (request: RequestOf<Q, B, K>) => Promise<R>;
  },
): Route => call as unknown as Route;
