import type { Readable } from 'node:stream';
import type { TSchema } from 'typebox';
import type { Scope } from '../../domain/api-keys.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { record, uuid, type Value } from '../../domain/json-schema.ts';
import type { Caller, Operator } from '../../services/context.ts';
import type { ApiDeps } from '../deps.ts';
import type { Tag } from '../openapi/info.ts';
import type { Multipart, MultipartOptions } from './read-multipart.ts';

export type Request = {
  readonly caller: Caller;
  /** Path parameters; malformed ids are refused earlier. */
  readonly params: Readonly<Record<string, string>>;
  /** Query parameters, validated by the route's schemas; numbers are parsed. */
  readonly query: Readonly<Record<string, unknown>>;
  /** Validated by the route's schema. */
  readonly body: unknown;
  /** @param name In lower case. @returns a header's value, which may be empty, or undefined. */
  readonly header: (name: string) => string | undefined;
  /** Reads a multipart body, once the use case knows where to store the file. */
  readonly readMultipart: (options: MultipartOptions) => Promise<Multipart>;
  /** Aborts when the client hangs up before its response. Created on the first call. */
  readonly clientSignal: () => AbortSignal;
  /** For a call that goes on for long: throws once the key has ended or lost a right. */
  readonly assertStillAllowed: () => Promise<void>;
};

export type Answer = {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
};

export type HeaderSpec = { readonly description: string; readonly schema: TSchema };

/** The `Location` header of a response that created a resource. */
export const location = {
  description: 'The path of the created resource.',
  schema: { type: 'string', format: 'uri-reference' },
} as const;

/** A query parameter: a JSON Schema of a string, a number or an integer. */
export type QuerySpec = {
  readonly description: string;
  readonly schema: TSchema;
  /** Documented as required. The use case refuses its absence, after it has checked that the resource exists. */
  readonly required?: true;
};

/** Examples of the OpenAPI document, keyed in camelCase. A test validates every value against its schema. */
export type Examples = Readonly<
  Record<string, { readonly summary?: string; readonly value: object }>
>;

export type AnswerSpec = {
  readonly description: string;
  readonly schema: TSchema;
  /** Headers that this response always has, in addition to the common ones. */
  readonly headers?: Readonly<Record<string, HeaderSpec>>;
  /** Made from the schema unless given. */
  readonly examples?: Examples;
  /** Another media type that the caller may request, which is streamed. */
  readonly alsoAs?: string;
};

/** The answers of a call that succeeds in one way. */
export const ok = <const S extends TSchema>(description: string, schema: S) => ({
  200: { description, schema },
});

/** The answers of a call whose effect comes after its answer. */
export const accepted = <const S extends TSchema>(description: string, schema: S) => ({
  202: { description, schema },
});

/** The body of an answer to a call that deletes. */
export const deletedAnswer = record({ ok: { type: 'boolean', const: true }, id: uuid });

type QuerySpecs = Readonly<Record<string, QuerySpec>>;
type AnswerSpecs = Readonly<Record<number, AnswerSpec>>;

/** One route as data. The server and the OpenAPI document are built from the same list. */
export type Route = {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /** As in OpenAPI, relative to `/api/v1`: `/posts/{id}`. */
  readonly path: string;
  /** Method name in generated clients. Stable and unique. */
  readonly operationId: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** The scope that the key needs; null for any key. */
  readonly scope: Scope | null;
  readonly query?: QuerySpecs;
  /** JSON Schema of the body; omitted when the route has none. */
  readonly body?: TSchema;
  /** Made from the schema unless given. */
  readonly bodyExamples?: Examples;
  /** A call without a body is the same as one with an empty object. */
  readonly isBodyOptional?: true;
  /** Changes nothing despite its method, so it does not count as a write. */
  readonly isReadOnly?: true;
  /** With the query parameter `wait` it waits, and takes no slot from the key's other calls. */
  readonly mayWait?: true;
  /** Needs an operator key, and its `caller` is the operator. Other calls need a workspace's API key. */
  readonly isForOperators?: true;
  /** `multipart`: `body` only documents it, and `handle` reads it with `readMultipart`. JSON otherwise. */
  readonly bodyKind?: 'multipart';
  readonly requestHeaders?: Readonly<Record<string, HeaderSpec>>;
  readonly answers: AnswerSpecs;
  /** Error codes of this route, in addition to the common ones (`failuresOf`). */
  readonly errors?: readonly ErrorCode[];
  readonly handle: (request: Request, deps: ApiDeps) => Promise<Answer>;
};

type BodyKind = Route['bodyKind'];

type QueryOf<Q extends QuerySpecs> = {
  readonly [Name in keyof Q]?: Value<Q[Name]['schema']>;
};

type Shared = Pick<Route, 'tag'> & Partial<Pick<Route, 'scope' | 'isForOperators'>>;

/** A request, typed by the schemas of its route. A multipart body is not read yet. */
type RequestOf<
  S extends Shared,
  Q extends QuerySpecs,
  B extends TSchema,
  K extends BodyKind,
> = Omit<Request, 'caller' | 'query' | 'body'> & {
  readonly caller: S extends { readonly isForOperators: true } ? Operator : Caller;
  readonly query: QueryOf<Q>;
  readonly body: K extends 'multipart' ? undefined : Value<B>;
};

type AnswerOf<A extends AnswerSpecs> = {
  readonly [Status in keyof A & number]: Omit<Answer, 'status' | 'body'> & {
    readonly status: Status;
    readonly body:
      | Value<A[Status]['schema']>
      | (A[Status] extends { readonly alsoAs: string } ? Readable : never);
  };
}[keyof A & number];

/**
 * Returns functions that declare routes, `get('/posts', {…})`. Handlers are type-checked against the schemas by which
 * `mount` validates requests.
 */
export function routesWith<const S extends Shared>(shared: S) {
  const by =
    (method: Route['method']) =>
    <
      const Q extends QuerySpecs,
      const B extends TSchema,
      const A extends AnswerSpecs,
      const R extends AnswerOf<A>,
      K extends BodyKind = undefined,
    >(
      path: string,
      call: Omit<Route, Typed | keyof S> & {
        readonly query?: Q;
        readonly body?: B;
        readonly bodyKind?: K;
        readonly answers: A;
        readonly handle: (request: RequestOf<S, Q, B, K>, deps: ApiDeps) => Promise<R>;
      },
    ): Route =>
      ({ ...shared, ...call, method, path }) as unknown as Route;
  return { get: by('get'), post: by('post'), patch: by('patch'), delete: by('delete') };
}

type Typed =
  | 'method'
  | 'path'
  | 'query'
  | 'body'
  | 'bodyKind'
  | 'isForOperators'
  | 'answers'
  | 'handle';
