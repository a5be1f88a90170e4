import type { components, operations, webhooks } from './schema.ts';

/** Everything that the OpenAPI document names, such as `Schemas['PostListItem']`. */
export type Schemas = components['schemas'];
export type ApiErrorDetail = Schemas['ApiErrorDetail'];
export type Channel = Schemas['Channel'];
export type ErrorCode = Schemas['ErrorCode'];
export type MediaFile = Schemas['MediaFile'];
export type NewPost = Schemas['NewPost'];
export type Post = Schemas['Post'];

/** A call of the API, by its name in the OpenAPI document. */
export type OperationId = Exclude<keyof operations, `receive${string}`>;

type Json<Part> = Part extends { content: { 'application/json': infer Value } } ? Value : never;

type Documented<O extends OperationId> = operations[O]['responses'] extends infer Responses
  ? Json<Responses[keyof Responses & (200 | 201 | 202)]>
  : never;

/** An event of a list, whose `type` tells what its `data` has, as in a webhook. */
type WithData<Listed> = WebhookEvent & Omit<Listed, keyof WebhookEvent>;

/** The answer of a successful call. */
export type Answer<O extends OperationId> = O extends 'listEvents'
  ? Omit<Documented<O>, 'events'> & {
      events: WithData<Documented<'listEvents'>['events'][number]>[];
    }
  : O extends 'getEvent'
    ? { event: WithData<Documented<'getEvent'>['event']> }
    : Documented<O>;

/** The JSON body of a call. */
export type Body<O extends OperationId> = Json<NonNullable<operations[O]['requestBody']>>;

/** The query parameters of a call. */
export type Query<O extends OperationId> = NonNullable<operations[O]['parameters']['query']>;

/** An event of a webhook by its name, such as `WebhookEvent<'post.published'>`; without a name, one of all. */
export type WebhookEvent<Name extends keyof webhooks = keyof webhooks> = {
  [N in Name]: Json<webhooks[N]['post']['requestBody']>;
}[Name];

type Ids<O extends OperationId> = operations[O]['parameters'] extends { path: infer Path }
  ? 'delivery' extends keyof Path
    ? [id: string, delivery: string]
    : [id: string]
  : [];

// A part that a call does not have is `never` in the document.
type BodyInput<O extends OperationId> = [Body<O>] extends [never]
  ? []
  : operations[O] extends { requestBody: unknown }
    ? [body: Body<O>]
    : [body?: Body<O>];

type QueryInput<O extends OperationId> = [Query<O>] extends [never]
  ? []
  : operations[O]['parameters'] extends { query: unknown }
    ? [query: Query<O>]
    : [query?: Query<O>];

/** The arguments of a call: ids of its path, its body or query, and options. */
export type Arguments<O extends OperationId, Options> = [
  ...ids: Ids<O>,
  ...input: BodyInput<O>,
  ...query: QueryInput<O>,
  options?: Options,
];
