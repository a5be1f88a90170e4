import type { Em, Orm } from '../db/orm.ts';
import type { Quotas } from '../domain/quotas.ts';
import type { Networks } from '../networks/registry.ts';
import type { Egress } from '../runtime/egress/egress.ts';
import type { MediaStorage } from '../runtime/storage/media-storage.ts';
import type { Temporal } from '../temporal/connect.ts';
import type { Sealer } from '../runtime/secrets.ts';

export type CommandDeps = {
  readonly orm: Orm;
  /** For commands that make one small change. */
  readonly em: Em;
  readonly networks: Networks;
  /** The way out to networks. */
  readonly egress: Egress;
  readonly sealer: Sealer;
  /** Where browsers reach the API, without a slash at the end. */
  readonly publicUrl: string;
  /** Where Temporal's Web UI shows a workflow; null when no setting says where that is. */
  readonly workflowLink: (workflowId: string) => string | null;
  /** Of the sandbox; null when no setting says so. */
  readonly sandboxUrl: string | null;
  /** What a workspace may have, where nothing else was set for it. */
  readonly quotas: Quotas;
  /** Where browsers may be sent back to after an account was connected. */
  readonly returnUrls: readonly URL[];
  /** Both load much, so they are opened by the commands that need them. */
  readonly openStorage: () => Promise<MediaStorage>;
  readonly openTemporal: () => Promise<Temporal>;
  readonly now: () => Date;
};

/** For people, and for programs. */
export type CommandAnswer = {
  readonly text: string;
  readonly data: object;
  /** It is answered, and the answer is bad news: the exit code is 1. */
  readonly failed?: boolean;
};

/** One without a placeholder takes no value; when it is given, its value is `yes`. */
export type Option = { readonly placeholder?: string; readonly required: boolean };

export type Command = {
  readonly summary: string;
  /** Names of the positional arguments, in order. */
  readonly positionals: readonly string[];
  readonly options: Readonly<Record<string, Option>>;
  /** Exactly one of these options has to be given. */
  readonly oneOf?: readonly string[];
  /** The name of a secret that it needs, which is among its values but never on the command line (`read-secret.ts`). */
  readonly secret?: string;
} & (
  | {
      /** It runs also with another SECRET_KEY than the database's secrets are sealed under. */
      readonly takesAnyKey?: true;
      /** Its statements read or write most of the database, and have no time limit. */
      readonly takesLong?: true;
      readonly run: (
        deps: CommandDeps,
        values: Readonly<Record<string, string>>,
      ) => Promise<CommandAnswer>;
    }
  /** Runs without a prepared database: it needs none, or it must work whatever its schema. */
  | { readonly runAlone: (values: Readonly<Record<string, string>>) => Promise<CommandAnswer> }
);

/** A call whose words do not fit its command. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
