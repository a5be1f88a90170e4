import type { Em, Orm } from '../../db/orm.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { Networks } from '../../networks/registry.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import type { Sealer } from '../../runtime/secrets.ts';
import type { MediaStorage } from '../../runtime/storage/media-storage.ts';
import type { Temporal } from '../../temporal/connect.ts';

export type CommandDeps = {
  readonly orm: Orm;
  /** Entity manager for commands with one small change. */
  readonly em: Em;
  readonly networks: Networks;
  /** HTTP client for networks. */
  readonly egress: Egress;
  readonly sealer: Sealer;
  /** Public base URL of the API, without a trailing slash. */
  readonly publicUrl: string;
  /** Link to a workflow in Temporal's Web UI; null when its URL is not configured. */
  readonly workflowLink: (workflowId: string) => string | null;
  /** Base URL of the sandbox; null when it is not configured. */
  readonly sandboxUrl: string | null;
  /** Default quotas of a workspace. */
  readonly quotas: Quotas;
  /** Allowed return URLs after an account was connected. */
  readonly returnUrls: readonly URL[];
  /** Slow to load, so commands open them only when needed. */
  readonly openStorage: () => Promise<MediaStorage>;
  readonly openTemporal: () => Promise<Temporal>;
  readonly now: () => Date;
  /** Asks a question at the terminal. @returns the typed line; empty without a terminal. */
  readonly ask: (question: string) => Promise<string>;
};

/** The result of a command, as text and as data. */
export type CommandAnswer = {
  readonly text: string;
  readonly data: object;
  /** The command ran and reports a failure: exit code 1. */
  readonly failed?: boolean;
};

/** What was typed, by the names of positional arguments and options. An option without a value is `yes`. */
export type Values = Readonly<Record<string, string>>;

/** An option without a placeholder takes no value. */
export type Option = {
  readonly brief?: string;
  readonly placeholder?: string;
  readonly required?: boolean;
};

export type Command = {
  readonly summary: string;
  /** Names of the positional arguments, in order. */
  readonly positionals?: readonly string[];
  readonly options?: Readonly<Record<string, Option>>;
  /** Exactly one of these options is required. */
  readonly oneOf?: readonly string[];
  /** Name of a required secret, which is among the values but never on the command line. */
  readonly secret?: string;
  /** Also runs when the database was sealed with another SECRET_KEY. */
  readonly takesAnyKey?: true;
  /** Reads or writes most of the database: statements have no time limit. */
  readonly takesLong?: true;
} & (
  | { readonly load: () => Promise<(deps: CommandDeps, values: Values) => Promise<CommandAnswer>> }
  /** Runs without a prepared database. */
  | { readonly loadAlone: () => Promise<(values: Values) => Promise<CommandAnswer>> }
);
