import type { ExecutionContext } from 'ava';
import type { CommandAnswer } from '../../../cli/command.ts';
import { postCommands } from '../../../cli/posts/commands.ts';
import { readArguments } from '../../../cli/read-arguments.ts';
import { createSealer } from '../../../runtime/sealer.ts';
import type { Punctual } from '../../support/punctual.ts';
import { runAdmin, type AdminRun } from '../run-admin.ts';

export type Admin = {
  /** Runs a command as a process, as `npm run admin` does. */
  readonly run: (...words: readonly string[]) => Promise<AdminRun>;
  /** The same in this process, which takes a hundredth of the time. @throws what the command does. */
  readonly post: (...words: readonly string[]) => Promise<Answer>;
};

// A test looks into answers as a program in another language would, without our types.
// oxlint-disable-next-line typescript/no-explicit-any
export type Answer = Omit<CommandAnswer, 'data'> & { readonly data: any };

/** Where the tests say that Temporal's Web UI is. */
export const uiUrl = 'http://temporal.example:8233';

/** The operator's commands on this Punctual. */
export function adminOf({
  databaseUrl,
  secretKey,
  temporalEnv,
  temporal,
  orm,
  deps,
}: Punctual): Admin {
  const settings = {
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    PUNCTUAL_TEMPORAL_UI_URL: `${uiUrl}/`,
    PUNCTUAL_PUBLIC_URL: deps.publicUrl,
    ...temporalEnv,
  };
  return {
    run: (...words) => runAdmin(words, settings),
    post: async (...words) => {
      const { command, values } = readArguments(['post', ...words]);
      const { run } = postCommands[command as keyof typeof postCommands];
      const { egress, publicUrl, now } = deps;
      const sealer = createSealer(secretKey);
      const em = orm.em.fork();
      const workflowLink = (id: string) =>
        `${uiUrl}/namespaces/${temporal.namespace}/workflows/${id}`;
      return run({ orm, em, egress, sealer, publicUrl, workflowLink, now }, values);
    },
  };
}

/** What a command refuses, and why. */
export async function areRefused(
  t: ExecutionContext,
  admin: Admin,
  refusals: readonly (readonly [words: readonly string[], name: string, reason: RegExp])[],
): Promise<void> {
  for (const [words, name, message] of refusals) {
    await t.throwsAsync(admin.post(...words), { name, message }, words.join(' '));
  }
}
