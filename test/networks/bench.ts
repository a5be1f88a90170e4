import type { ExecutionContext } from 'ava';
import type { Json } from '../../domain/json-schema.ts';
import type { Options } from '../../networks/content-rules.ts';
import type { Account, Network } from '../../networks/network.ts';
import type { Target } from '../support/lossy-proxy.ts';

export type LivePost = {
  readonly remoteId: string;
  readonly text: string;
  /** Of the post that it answers. */
  readonly parentId: string | null;
};

/** A real account on a real server, and another client's view of it. */
export type TestAccount = {
  readonly account: Account;
  /** All posts of the account, oldest first. */
  posts(): Promise<LivePost[]>;
  /** The text that a browser shows at an address. */
  textAt(url: string): Promise<string>;
  /** The files of a post, as they are handed out, in order. */
  filesOf(remoteId: string): Promise<Buffer[]>;
  /** The alt texts of its files, in order; empty for one without. */
  altTextsOf(remoteId: string): Promise<string[]>;
  /** What became of the options that its owner chose: holds what the cases of `options` name. */
  choicesOf(remoteId: string): Promise<object>;
};

/** What the suite has to know of a network. */
export type Bench = {
  readonly network: Network;
  makeAccount(t: ExecutionContext): Promise<TestAccount>;
  /** The request that creates posts. */
  readonly creates: Target;
  /** The request that brings a file. */
  readonly uploads: Target;
  /** Longer than the network takes. */
  readonly tooLong: string;
  /** Of the right form, and of no account. */
  readonly wrongCredentials: Json;
  /** What an owner may choose, and how the network then shows it: each option of the rules in one case at least. */
  readonly options: readonly { readonly chosen: Options; readonly shown: object }[];
  /** How the network says when it takes requests again. */
  resetHeaders(resetAtMs: number): Record<string, string>;
};
