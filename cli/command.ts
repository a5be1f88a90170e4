import type { Em } from '../db/orm.ts';
import type { Egress } from '../runtime/egress/egress.ts';
import type { Sealer } from '../runtime/sealer.ts';

export type CommandDeps = { readonly em: Em; readonly egress: Egress; readonly sealer: Sealer };

/** For people, and for programs. */
export type CommandAnswer = { readonly text: string; readonly data: object };

export type Command = {
  readonly summary: string;
  /** Arguments by place. */
  readonly places: readonly string[];
  readonly options: Readonly<Record<string, { placeholder: string; required: boolean }>>;
  readonly run: (
    deps: CommandDeps,
    values: Readonly<Record<string, string>>,
  ) => Promise<CommandAnswer>;
};
