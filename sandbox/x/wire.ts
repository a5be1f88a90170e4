import type { PostsClient, Schemas, UsersClient } from '@xdevplatform/xdk';

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** A type of X's SDK, with the field names on the wire. */
type Wire<Type> = Type extends readonly (infer Item)[]
  ? readonly Wire<Item>[]
  : Type extends object
    ? { readonly [Name in keyof Type as SnakeCase<Name & string>]: Wire<Type[Name]> }
    : Type;

/** A JSON Schema that lists every field of X, and no others. */
export type SchemaOf<Body> = {
  readonly type: 'object';
  readonly additionalProperties: false;
  readonly required?: readonly (keyof Body)[];
  readonly properties: { readonly [Name in keyof Body]-?: object };
};

// Requests.

export type CreatePost = Wire<Schemas.CreatePostsRequest>;
export type InitializeUpload = Wire<Schemas.InitializeMediaUploadRequest>;
export type MediaMetadata = Wire<Schemas.CreateMediaMetadataRequest>;
export type MediaCategory = Schemas.MediaUploadRequest['mediaCategory'];
export type UploadField = keyof Wire<Schemas.MediaUploadRequest>;
export type AppendField = keyof Wire<Schemas.AppendMediaUploadRequest>;

/** `postFields` of the SDK is `post.fields` in a URL. */
type QueryName<Name> = Name extends `${infer Kind}_fields` ? `${Kind}.fields` : Name;
/** Without the SDK's index signature. */
type NamesOf<Options> = keyof {
  [Name in keyof Options as string extends Name ? never : number extends Name ? never : Name]: 0;
};
type QueryOf<Options> = QueryName<Exclude<SnakeCase<NamesOf<Options> & string>, 'request_options'>>;
export type TimelineQuery = QueryOf<NonNullable<Parameters<UsersClient['getPosts']>[1]>>;
export type ByIdQuery = 'ids' | QueryOf<NonNullable<Parameters<PostsClient['getByIds']>[1]>>;
export type MeQuery = QueryOf<NonNullable<Parameters<UsersClient['getMe']>[0]>>;

// Responses.

export type Post = Wire<Schemas.Post>;
export type Media = Wire<Schemas.Media>;
export type CreatedPost = Wire<Schemas.CreatePostsResponse>;
export type Timeline = Wire<Schemas.GetUsersPostsResponse>;
export type PostsById = Wire<Schemas.GetPostsByIdsResponse>;
export type PublicMetrics = NonNullable<Post['public_metrics']>;
export type Me = { readonly data: Wire<Schemas.User> };
export type UploadAnswer = Wire<Schemas.GetMediaUploadStatusResponse>;
export type AppendAnswer = Wire<Schemas.AppendMediaUploadResponse>;
export type MetadataAnswer = Wire<Schemas.CreateMediaMetadataResponse>;
