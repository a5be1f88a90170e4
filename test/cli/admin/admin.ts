import { openNetworks } from '../../../networks/registry.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import {
  perform,
  type AdminCommand,
  type AdminInput,
  type CommandDeps,
} from '../../../cli/admin/command.ts';
import { adminRoutes } from '../../../cli/admin/routes.ts';
import { UsageError } from '../../../cli/failures.ts';
import { runApplication } from '../../../cli/run-application.ts';
import { tableText } from '../../../cli/table.ts';
import { createSealer } from '../../../runtime/secrets.ts';
import { usualQuotas, type Punctual } from '../../support/punctual.ts';

const main = fileURLToPath(new URL('../../../cli/admin/main.ts', import.meta.url));

export type AdminRun = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/**
 * Runs `npm run admin -- …` with these settings only. A process takes two seconds of CPU time, so use it only for
 * exit codes and output.
 */
export async function runAdmin(
  words: readonly string[],
  settings: Readonly<Record<string, string>>,
  input = '',
): Promise<AdminRun> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [main, ...words], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH, NODE_COMPILE_CACHE, ...settings },
  });
  const exited = once(child, 'exit');
  child.stdin.on('error', () => undefined); // The process may end before it reads.
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await exited;
  return { code: child.exitCode, stdout, stderr };
}

/**
 * Parses a command line as `npm run admin` does.
 *
 * @throws UsageError with what it would print to standard error.
 */
export async function parseAdmin(
  words: readonly string[],
): Promise<{ readonly command: AdminCommand; readonly input: AdminInput }> {
  const parsed: { command: AdminCommand; input: AdminInput }[] = [];
  const routes = adminRoutes(async (command, input) => {
    parsed.push({ command, input });
    return Promise.resolve({ data: '', text: '' });
  });
  let printed = '';
  const output = { write: (written: string) => (printed += written) };
  const here = { stdout: output, stderr: output };
  await runApplication(routes, { name: 'npm run admin --', version: '1' }, words, here);
  const [found] = parsed;
  if (!found) {
    throw new UsageError(printed);
  }

  return found;
}

/** Runs a command with these parts of the product. @throws the command's errors. */
export async function callAdmin(deps: CommandDeps, ...words: readonly string[]): Promise<Answer> {
  const { command, input } = await parseAdmin(words);
  const { text: shown, ...answer } = await perform(command, input, (run) => run(deps));
  return { ...answer, text: typeof shown === 'string' ? shown : tableText(shown) } as Answer;
}

export type Admin = {
  /** Runs a command in a process, as `npm run admin` does. */
  readonly run: (...words: readonly string[]) => Promise<AdminRun>;
  /** The same in this process, a hundred times faster. @throws the command's errors. */
  readonly call: (...words: readonly string[]) => Promise<Answer>;
};

// Tests read answers like programs in other languages, without types.
// oxlint-disable-next-line typescript/no-explicit-any
export type Answer = { readonly text: string; readonly data: any; readonly failed?: boolean };

/** The URL of Temporal's Web UI in the tests. */
export const uiUrl = 'http://temporal.example:8233';

/** The operator's commands for this Punctual. @param typed What the operator types when asked. */
export function adminOf(
  { databaseUrl, secretKey, temporalEnv, temporal, orm, deps }: Punctual,
  sandboxUrl: string | null = null,
  typed = '',
): Admin {
  const settings = {
    DATABASE_URL: databaseUrl,
    SECRET_KEY: secretKey,
    PUNCTUAL_TEMPORAL_UI_URL: `${uiUrl}/`,
    PUNCTUAL_PUBLIC_URL: deps.publicUrl,
    ...temporalEnv,
  };
  return {
    run: (...words) => runAdmin(words, settings),
    call: async (...words) => {
      const { egress, publicUrl, now } = deps;
      const sealer = createSealer(secretKey);
      const em = orm.em.fork();
      const workflowLink = (id: string) =>
        `${uiUrl}/namespaces/${temporal.namespace}/workflows/${id}`;
      const quotas = usualQuotas;
      const networks = openNetworks({});
      const its = {
        orm,
        em,
        networks,
        egress,
        sealer,
        publicUrl,
        sandboxUrl,
        workflowLink,
        quotas,
        returnUrls: [],
        openStorage: () => Promise.resolve(deps.storage),
        openTemporal: () => Promise.resolve({ ...temporal, close: () => Promise.resolve() }),
        now,
        ask: () => Promise.resolve(typed),
      };
      return callAdmin(its, ...words);
    },
  };
}

/** Asserts that commands are refused with these reasons. A UsageError exits with 2, any other error with 1. */
export async function areRefused(
  t: ExecutionContext,
  admin: Admin,
  refusals: readonly (readonly [words: readonly string[], name: string, reason: RegExp])[],
): Promise<void> {
  for (const [words, name, message] of refusals) {
    await t.throwsAsync(admin.call(...words), { name, message }, words.join(' '));
  }
}
