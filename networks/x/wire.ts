import type { Schemas } from '@xdevplatform/xdk';

/** `inReplyToTweetId` is `in_reply_to_tweet_id` on the wire. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/**
 * A type of X's own development kit as it goes over the wire. The kit writes its names in camel case; it is made from
 * X's OpenAPI document, so that the compiler holds this adapter against X's contract.
 */
export type Wire<Type> = Type extends readonly (infer Item)[]
  ? readonly Wire<Item>[]
  : Type extends object
    ? { readonly [Name in keyof Type as SnakeCase<Name & string>]: Wire<Type[Name]> }
    : Type;

// What is sent.

export type CreatePost = Wire<Schemas.CreatePostsRequest>;
export type InitializeUpload = Wire<Schemas.InitializeMediaUploadRequest>;
export type DescribeMedia = Wire<Schemas.CreateMediaMetadataRequest>;
export type MediaCategory = Schemas.MediaUploadRequest['mediaCategory'];
/** Of the form that brings a whole file, beside its bytes. */
export type UploadFields = Omit<Wire<Schemas.MediaUploadRequest>, 'media'>;
/** Of the form that brings a segment, beside its bytes; numbers are written out in a form. */
export type AppendFields = Record<
  keyof Omit<Wire<Schemas.AppendMediaUploadRequest>, 'media'>,
  string
>;

// What is read. Only what is used; X's schemas leave almost everything out.

type Answer<Data> = { readonly data: Data };

export type CreatedPost = Answer<Pick<Wire<Schemas.CreatePostsResponseData>, 'id'>>;

type ProcessingInfo = NonNullable<
  Wire<Schemas.GetMediaUploadStatusResponseData>['processing_info']
> & {
  /** Not in X's document: why it failed. */
  readonly error?: { readonly name?: string; readonly message?: string };
};

/** The same from an upload in one request, and from each step of one in segments. */
export type UploadAnswer = Answer<
  Pick<Wire<Schemas.GetMediaUploadStatusResponseData>, 'id' | 'expires_after_secs'> & {
    readonly processing_info?: ProcessingInfo;
  }
>;

export type OwnUser = Answer<
  Required<Pick<Wire<Schemas.User>, 'id' | 'username'>> & { readonly name?: unknown }
>;

/** The fields of a post that a look asks for. */
export const postFields = [
  'attachments',
  'conversation_id',
  'entities',
] as const satisfies readonly (keyof Wire<Schemas.Post>)[];

/** A link of a text: `url` stands there, `expanded_url` is where it leads; with `media_key` to one of the post's own files. */
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

/** Any of them may be missing, and none is trusted to be a number. */
export type PublicMetrics = {
  readonly [Name in keyof ToldMetrics | 'retweet_count']?: unknown;
};

/** Of posts that are read by their ids; `errors` names those that are not in `data`. */
export type ReadPosts = {
  readonly data?: readonly { readonly id: string; readonly public_metrics?: PublicMetrics }[];
  readonly errors?: readonly {
    readonly type?: string;
    readonly resource_id?: string;
    readonly value?: unknown;
  }[];
};
