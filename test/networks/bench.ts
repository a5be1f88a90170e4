import type { ExecutionContext } from 'ava';
import type { Json } from '../../domain/json-schema.ts';
import type { Options } from '../../networks/content-rules.ts';
import type { Account, Network, ThreadPart } from '../../networks/network.ts';
import type { Target } from '../support/lossy-proxy.ts';
import { pictureFile, pixelsOf, type TestPartMedia } from './files.ts';
import { partsWith } from './publish.ts';

export type LivePost = {
  readonly remoteId: string;
  readonly text: string;
  /** The post that it replies to. */
  readonly parentId: string | null;
};

/** A real account on a real server, read by an independent client. */
export type TestAccount = {
  readonly account: Account;
  /** All posts of the account, oldest first. */
  posts(): Promise<LivePost[]>;
  /** The text that a browser shows at a URL. */
  textAt(url: string): Promise<string>;
  /** The files of a post as the server returns them, in order. */
  filesOf(remoteId: string): Promise<Buffer[]>;
  /** The alt texts of its files, in order; empty for a file without one. */
  altTextsOf(remoteId: string): Promise<string[]>;
  /** The live effect of the owner's options, with the fields of `options[].shown`. */
  choicesOf(remoteId: string): Promise<object>;
};

/** The content of a post on a network. */
export type PostShape = {
  /** Whether a post must have a file. */
  readonly needsFile: boolean;
  /** The parts of a thread; without files, in the simplest valid form. */
  parts(texts: readonly string[], files?: readonly TestPartMedia[]): Promise<ThreadPart[]>;
  /** Unique files for one post: two, if the network allows that many. */
  makeFiles(): Promise<TestPartMedia[]>;
  /** The content of a file that the network preserves. */
  essenceOf(bytes: Buffer): Promise<Buffer>;
};

/** The shape on most networks. */
export const textWithPictures: PostShape = {
  needsFile: false,
  parts: async (texts, files = []) => partsWith(files, ...texts),
  makeFiles: async () => [await pictureFile('a.png', 30, 20), await pictureFile('b.png', 20, 40)],
  essenceOf: pixelsOf,
};

/** The suite's inputs for one network. */
export type Bench = {
  readonly network: Network;
  /** A post's content there; by default text, with or without images. */
  readonly shape?: PostShape;
  makeAccount(t: ExecutionContext): Promise<TestAccount>;
  /** The request that creates posts. */
  readonly creates: Target;
  /** The request that deletes a post. */
  readonly deletes: Target;
  /** Whether the network does not tell a post that was deleted before from one that it deletes now. */
  readonly hidesGone?: true;
  /** The request that uploads a file. */
  readonly uploads: Target;
  /** A text over the network's limit. */
  readonly tooLong: string;
  /** Well-formed credentials of no account. */
  readonly wrongCredentials: Json;
  /** Options that an owner may choose and their live effect: at least one case for each option of the rules. */
  readonly options: readonly {
    readonly chosen: Options;
    readonly shown: object;
    /** The files that options refer to. */
    readonly optionFiles?: ThreadPart['optionFiles'];
  }[];
  /** The headers in which the network says when it accepts requests again. */
  resetHeaders(resetAtMs: number): Record<string, string>;
};
