import type { Em, Orm } from '../../db/orm.ts';
import type { Quotas } from '../../domain/quotas.ts';
import type { Networks } from '../../networks/registry.ts';
import type { Egress } from '../../runtime/egress/egress.ts';
import type { Sealer } from '../../runtime/secrets.ts';
import type { MediaStorage } from '../../runtime/storage/media-storage.ts';
import type { Temporal } from '../../temporal/connect.ts';
import type { Answer, Definition, Flags, Input } from '../command.ts';
import { UsageError } from '../failures.ts';
import { flagName } from '../flags.ts';

export type CommandDeps = {
  readonly orm: Orm;
  readonly em: Em;
  readonly networks: Networks;
  readonly egress: Egress;
  readonly sealer: Sealer;
  readonly publicUrl: string;
  /** Link to a workflow in Temporal's Web UI; null when its URL is not configured. */
  readonly workflowLink: (workflowId: string) => string | null;
  readonly sandboxUrl: string | null;
  /** The defaults. */
  readonly quotas: Quotas;
  readonly returnUrls: readonly URL[];
  readonly openStorage: () => Promise<MediaStorage>;
  readonly openTemporal: () => Promise<Temporal>;
  readonly now: () => Date;
  /** Asks a question at the terminal. @returns the typed line; empty without a terminal. */
  readonly ask: (question: string) => Promise<string>;
};

type Form<F extends Flags, A extends string> = Omit<
  Definition<F, A, never>,
  'run' | 'rest' | 'examples'
> & {
  /** Exactly one of these flags is required. */
  readonly oneOf?: readonly (keyof F & string)[];
  /** Also runs when the database was sealed with another SECRET_KEY. */
  readonly takesAnyKey?: true;
  /** Reads or writes most of the database: statements have no time limit. */
  readonly takesLong?: true;
} & (
    | { readonly run: (deps: CommandDeps, input: Input<F, A, never>) => Promise<Answer> }
    /** Runs without a prepared database. */
    | { readonly runAlone: (input: Input<F, A, never>) => Promise<Answer> }
  );

/** A command of the operator, whose types of flags only its own code knows. */
export type AdminCommand = Form<Flags, string>;
export type AdminInput = Input<Flags, string, never>;

/** Runs a command. `withDeps` opens what it needs, and closes it after the run. */
export async function perform(
  command: AdminCommand,
  input: AdminInput,
  withDeps: (run: (deps: CommandDeps) => Promise<Answer>) => Promise<Answer>,
): Promise<Answer> {
  const { oneOf = [] } = command;
  const given = oneOf.filter((name) => ![undefined, false].includes(input[name] as never));
  if (oneOf.length > 0 && given.length !== 1) {
    throw new UsageError(`Exactly one of ${oneOf.map(flagName).join(', ')} is wanted.`);
  }

  return 'runAlone' in command
    ? command.runAlone(input)
    : withDeps((deps) => command.run(deps, input));
}

export const adminCommand = <F extends Flags = Record<never, never>, A extends string = never>(
  form: Form<F, A>,
): AdminCommand => form as unknown as AdminCommand;
