import { UsageError } from '../failures.ts';
import { readSecret, type SecretSources } from '../input.ts';
import type { Command, Values } from './command.ts';

/**
 * Checks exclusive options, and adds the command's secret to its values.
 *
 * @throws UsageError
 */
export async function completeValues(
  { oneOf = [], secret }: Command,
  values: Values,
  sources?: SecretSources,
): Promise<Values> {
  const chosen = oneOf.filter((option) => values[option] !== undefined);
  if (oneOf.length > 0 && chosen.length !== 1) {
    throw new UsageError(
      `Exactly one of ${oneOf.map((option) => `--${option}`).join(', ')} is wanted.`,
    );
  }

  if (secret === undefined) {
    return values;
  }

  const file = values[`${secret}-file`];
  return { ...values, [secret]: await readSecret(secret, file, secretHint(secret), sources) };
}

/** An instruction for the operator. @param secret Its name. */
export const secretHint = (secret: string): string =>
  `Give it by standard input, by --${secret}-file FILE, or type it at the prompt.`;
