import type { Punctual } from '../../sdk/src/index.ts';
import { command, type Command, type Definition, type Flags, type Input } from '../command.ts';
import type { Table } from '../table.ts';

type Calling<F extends Flags, A extends string, Found> = Omit<Definition<F, A, never>, 'run'> & {
  readonly call: (client: Punctual, input: Input<F, A, never>) => PromiseLike<Found>;
  readonly show: (answer: Found) => string | Table;
};

/** A command that makes one call of the API, and shows its answer. */
export const apiCommand = <
  Found,
  F extends Flags = Record<never, never>,
  A extends string = never,
>({
  call,
  show,
  ...definition
}: Calling<F, A, Found>): Command =>
  command<F, A>({
    ...definition,
    run: async ({ client }, input) => {
      const answer = await call(await client(), input);
      return { data: answer, text: show(answer) };
    },
  });
