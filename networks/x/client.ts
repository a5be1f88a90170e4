import { networkClient } from '../client.ts';
import { dialect } from './refusal.ts';

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

/** A response. Only used members are typed: X's schemas make almost everything optional. */
export type Answer<Data> = { readonly data: Data };

/** Ids of posts, accounts and files are numbers of up to 19 digits, as strings. */
export const idSchema = { type: 'string', pattern: '^[0-9]{1,19}$' } as const;

export const { call, ask, getAs, refusal } = networkClient(dialect, 'X');
