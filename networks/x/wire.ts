import type { Schemas } from '@xdevplatform/xdk';

/** `inReplyToTweetId` becomes `in_reply_to_tweet_id`. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/**
 * The wire format of a type from X's SDK, which uses camel case. The SDK is generated from X's OpenAPI document, so the
 * compiler checks this adapter against X's contract.
 */
export type Wire<Type> = Type extends readonly (infer Item)[]
  ? readonly Wire<Item>[]
  : Type extends object
    ? { readonly [Name in keyof Type as SnakeCase<Name & string>]: Wire<Type[Name]> }
    : Type;

// Requests.

export type CreatePost = Wire<Schemas.CreatePostsRequest>;
export type InitializeUpload = Wire<Schemas.InitializeMediaUploadRequest>;
export type DescribeMedia = Wire<Schemas.CreateMediaMetadataRequest>;
export type MediaCategory = Schemas.MediaUploadRequest['mediaCategory'];
/** The form fields of a whole file, beside its bytes. */
export type UploadFields = Omit<Wire<Schemas.MediaUploadRequest>, 'media'>;
/** The form fields of a segment, beside its bytes. Numbers are text in a form. */
export type AppendFields = Record<
  keyof Omit<Wire<Schemas.AppendMediaUploadRequest>, 'media'>,
  string
>;

// Responses. Only used members are typed; X's schemas make almost everything optional.

type Answer<Data> = { readonly data: Data };

export type CreatedPost = Answer<Pick<Wire<Schemas.CreatePostsResponseData>, 'id'>>;

type ProcessingInfo = NonNullable<
  Wire<Schemas.GetMediaUploadStatusResponseData>['processing_info']
> & {
  /** Why it failed. Missing in X's document. */
  readonly error?: { readonly name?: string; readonly message?: string };
};

/** The response to an upload in one request, and to each step of an upload in segments. */
export type UploadAnswer = Answer<
  Pick<Wire<Schemas.GetMediaUploadStatusResponseData>, 'id' | 'expires_after_secs'> & {
    readonly processing_info?: ProcessingInfo;
  }
>;

export type OwnUser = Answer<
  Required<Pick<Wire<Schemas.User>, 'id' | 'username'>> & { readonly name?: unknown }
>;

/** The fields of a post that a reconcile requests. */
export const postFields = [
  'attachments',
  'conversation_id',
  'entities',
] as const satisfies readonly (keyof Wire<Schemas.Post>)[];

/**
 * A link of a text: `url` is in the text, `expanded_url` is its target. With `media_key` it leads to one of the post's
 * own files.
 */
type LinkEntity = Pick<
  NonNullable<NonNullable<Wire<Schemas.Post>['entities']>['urls']>[number],
  'url' | 'expanded_url' | 'media_key'
>;

export type OwnPost = Required<Pick<Wire<Schemas.Post>, 'id' | 'text' | 'conversation_id'>> & {
  readonly attachments?: { readonly media_keys?: readonly string[] | null };
  readonly entities?: { readonly urls?: readonly LinkEntity[] | null };
};

export type OwnPosts = {
  readonly data?: readonly OwnPost[];
  readonly meta?: { readonly next_token?: string };
};

type ToldMetrics = Wire<NonNullable<Schemas.Post['publicMetrics']>>;

/** Any of them may be missing or not a number. */
export type PublicMetrics = {
  readonly [Name in keyof ToldMetrics | 'retweet_count']?: unknown;
};

/** Posts that are read by id. `errors` contains the ids that are missing in `data`. */
export type ReadPosts = {
  readonly data?: readonly { readonly id: string; readonly public_metrics?: PublicMetrics }[];
  readonly errors?: readonly {
    readonly type?: string;
    readonly resource_id?: string;
    readonly value?: unknown;
  }[];
};
