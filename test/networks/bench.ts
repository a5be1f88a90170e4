import type { ExecutionContext } from 'ava';
import type { Json } from '../../domain/json-schema.ts';
import type { Options } from '../../networks/content-rules.ts';
import type { Account, Network, Part } from '../../networks/network.ts';
import type { Target } from '../support/lossy-proxy.ts';
import { pictureFile, pixelsOf, type TestPartMedia } from './files.ts';
import { partsWith } from './publish.ts';

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

/** What a post is made of on a network. */
export type PostShape = {
  /** Whether a text alone is no post. */
  readonly needsFile: boolean;
  /** A thread; where no files are given, its simplest. */
  parts(texts: readonly string[], files?: readonly TestPartMedia[]): Promise<Part[]>;
  /** Files that go into one post together: two where that is possible. No others are like them. */
  makeFiles(): Promise<TestPartMedia[]>;
  /** What the network keeps of a file. */
  essenceOf(bytes: Buffer): Promise<Buffer>;
};

/** Of most networks. */
export const textWithPictures: PostShape = {
  needsFile: false,
  parts: async (texts, files = []) => partsWith(files, ...texts),
  makeFiles: async () => [await pictureFile('a.png', 30, 20), await pictureFile('b.png', 20, 40)],
  essenceOf: pixelsOf,
};

/** What the suite has to know of a network. */
export type Bench = {
  readonly network: Network;
  /** What a post is made of there; text, with pictures or without, when left out. */
  readonly shape?: PostShape;
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
  readonly options: readonly {
    readonly chosen: Options;
    readonly shown: object;
    /** The files that options name. */
    readonly optionFiles?: Part['optionFiles'];
  }[];
  /** How the network says when it takes requests again. */
  resetHeaders(resetAtMs: number): Record<string, string>;
};
